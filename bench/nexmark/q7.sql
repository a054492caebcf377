-- Highest bid of each 10 seconds. A bid at the very end of a window counts for both.
SELECT b.auction, b.price, b.bidder, b.date_time, b.extra
FROM bid AS b
JOIN (
  SELECT max(price) AS maxprice, window_end AS date_time
  FROM TUMBLE(bid, date_time, INTERVAL '10 seconds')
  GROUP BY window_start, window_end
) AS m
ON b.price = m.maxprice
WHERE b.date_time BETWEEN m.date_time - INTERVAL '10 seconds' AND m.date_time
