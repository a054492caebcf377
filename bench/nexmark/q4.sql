-- Average final price of each category: a final price is the highest bid while the auction was open.
SELECT q.category, avg(q.final) AS avg_final
FROM (
  SELECT max(b.price) AS final, a.category
  FROM auction AS a
  JOIN bid AS b ON a.id = b.auction
  WHERE b.date_time BETWEEN a.date_time AND a.expires
  GROUP BY a.id, a.category
) AS q
GROUP BY q.category
