-- Hot items: the auctions with the most bids in the last 10 seconds, every 2 seconds.
SELECT b.auction, b.num
FROM (
  SELECT auction, count(*) AS num, window_start, window_end
  FROM HOP(bid, date_time, INTERVAL '10 seconds', INTERVAL '2 seconds')
  GROUP BY auction, window_start, window_end
) AS b
JOIN (
  SELECT max(c.num) AS maxn, c.window_start, c.window_end
  FROM (
    SELECT count(*) AS num, window_start, window_end
    FROM HOP(bid, date_time, INTERVAL '10 seconds', INTERVAL '2 seconds')
    GROUP BY auction, window_start, window_end
  ) AS c
  GROUP BY c.window_start, c.window_end
) AS m
ON b.window_start = m.window_start AND b.window_end = m.window_end AND b.num >= m.maxn
