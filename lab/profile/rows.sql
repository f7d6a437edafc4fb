-- SPDX-License-Identifier: MIT OR Apache-2.0
-- A table with an index: filled, updated, grouped.
CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
INSERT INTO t SELECT i, 'name ' || (i * 7919 % 10007), i * 0.5 FROM n;
CREATE INDEX u ON t (b);
UPDATE t SET c = c + 1 WHERE a % 3 = 0;
SELECT count(*), sum(x) FROM (SELECT b, sum(c) AS x FROM t GROUP BY b ORDER BY x DESC);
