-- Average selling price of each seller, over the last ten closed auctions before each and itself. The winning bid is that of q9.
SELECT q.seller, avg(q.final) OVER (PARTITION BY q.seller ORDER BY q.date_time, q.id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS avg_final
FROM (
  SELECT id, seller, final, date_time
  FROM (
    SELECT a.id, a.seller, b.price AS final, b.date_time,
      row_number() OVER (PARTITION BY a.id, a.seller ORDER BY b.price DESC, b.date_time ASC) AS rownum
    FROM auction AS a
    JOIN bid AS b ON a.id = b.auction
    WHERE b.date_time BETWEEN a.date_time AND a.expires
  ) AS w
  WHERE rownum <= 1
) AS q
