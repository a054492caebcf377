-- Pass through: the cost of moving rows.
SELECT auction, bidder, price, channel, url, date_time, extra
FROM bid
