-- Late flights, kept up to date. Run it with psql from the root of the repository, where the server
-- was started too: psql -h localhost -p 9347 -f examples/flights.sql

-- 1. A table, as in PostgreSQL.
CREATE TABLE airports (
  iata      text PRIMARY KEY,
  name      text NOT NULL,
  city      text,
  state     text,
  country   text,
  latitude  float8,
  longitude float8
);
\copy airports FROM 'examples/airports.csv' CSV HEADER

-- 2. A source: the lines of a file, those that are still to come included.
CREATE SOURCE flights (id int, date text, delay int, distance int, origin text, destination text)
  WITH (connector = 'file', path = 'examples/flights.jsonl', follow = 'true')
  FORMAT PLAIN ENCODE JSON;

-- A plain SELECT reads the file as it is now.
SELECT count(*) AS flights, min(date) AS first, max(date) AS last FROM flights;

-- 3. A view over both. It is complete when the statement returns, and stays so.
CREATE MATERIALIZED VIEW delays AS
SELECT a.state,
       left(f.date, 10)::date                AS day,
       count(*)                              AS flights,
       count(*) FILTER (WHERE f.delay > 15)  AS late,
       avg(f.delay)                          AS avg_delay,
       max(f.delay)                          AS max_delay,
       round(100.0 * count(*) FILTER (WHERE f.delay > 15) / count(*), 1) AS late_percent
FROM flights AS f
JOIN airports AS a ON f.origin = a.iata
GROUP BY a.state, left(f.date, 10)::date;

SELECT state, day, flights, round(avg_delay, 1) AS avg_delay, max_delay, late_percent
FROM delays
WHERE flights >= 20
ORDER BY late_percent DESC, state, day
LIMIT 10;

-- 4. A view over the view.
CREATE MATERIALIZED VIEW state_summary AS
SELECT state,
       count(*)                                     AS days,
       sum(flights)                                 AS flights,
       max(max_delay)                               AS max_delay,
       round(100.0 * sum(late) / sum(flights), 1)   AS late_percent,
       count(*) FILTER (WHERE late_percent > 30)    AS bad_days
FROM delays
GROUP BY state;

SELECT * FROM state_summary ORDER BY late_percent DESC, state LIMIT 10;

-- 5. Change the table: the next SELECT sees it through both views.
UPDATE airports SET state = 'Hawaii' WHERE state = 'HI';
SELECT * FROM state_summary WHERE state IN ('HI', 'Hawaii');
UPDATE airports SET state = 'HI' WHERE state = 'Hawaii';
SELECT * FROM state_summary WHERE state IN ('HI', 'Hawaii');

-- 6. How the view is maintained.
EXPLAIN CREATE MATERIALIZED VIEW v AS
SELECT a.state, avg(f.delay) FROM flights AS f JOIN airports AS a ON f.origin = a.iata GROUP BY a.state;

-- Clean up with: DROP TABLE airports CASCADE; DROP SOURCE flights CASCADE;
