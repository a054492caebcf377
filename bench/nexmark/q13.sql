-- Bounded side input join: each bid with what a table says about its auction when it comes.
SELECT b.auction, b.bidder, b.price, b.date_time, s.value
FROM bid AS b
JOIN side_input FOR SYSTEM_TIME AS OF PROCTIME() AS s ON b.auction % 10000 = s.key
