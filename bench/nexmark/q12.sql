-- Processing time windows: how many bids does a user make in each 10 seconds of the clock?
SELECT bidder, count(*) AS bid_count, window_start AS starttime, window_end AS endtime
FROM TUMBLE((SELECT bidder, PROCTIME() AS p_time FROM bid), p_time, INTERVAL '10 seconds')
GROUP BY bidder, window_start, window_end
