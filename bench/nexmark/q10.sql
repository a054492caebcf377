-- Log to a file system: all bids, with the day and the minute.
SELECT auction, bidder, price, date_time, extra, to_char(date_time, 'YYYY-MM-DD') AS dt, to_char(date_time, 'HH24:MI') AS hm
FROM bid
