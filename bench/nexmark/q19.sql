-- Top 10 bids of each auction by price, the earliest of equal ones.
SELECT auction, bidder, price, channel, url, date_time, extra, rank_number
FROM (
  SELECT auction, bidder, price, channel, url, date_time, extra,
    row_number() OVER (PARTITION BY auction ORDER BY price DESC, date_time ASC) AS rank_number
  FROM bid
) AS b
WHERE rank_number <= 10
