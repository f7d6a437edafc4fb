-- SPDX-License-Identifier: MIT OR Apache-2.0
-- shop.sql: what the benchmark gives sqlite3: an in-memory shop, filled by recursive queries.
--
-- The allocator sees pages of the database, parsed statements, sorters and hash tables of groups.
CREATE TABLE article(id INTEGER PRIMARY KEY, name TEXT, price INTEGER);
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, town TEXT);
CREATE TABLE purchase(id INTEGER PRIMARY KEY, customer INTEGER, article INTEGER, pieces INTEGER, note TEXT);

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO article SELECT i, printf('article-%05d', i * 7919 % 20011), i * 104729 % 9973 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
INSERT INTO customer SELECT i, printf('customer %d %s', i, hex(i * 65537)), printf('town-%d', i * 31 % 97) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80000)
INSERT INTO purchase SELECT i, i * 48271 % 5000 + 1, i * 69621 % 2000 + 1, i % 9 + 1,
  CASE WHEN i % 3 = 0 THEN printf('note %.*c', i % 120, 'x') END FROM n;

CREATE INDEX purchase_customer ON purchase(customer, article);
CREATE INDEX purchase_article ON purchase(article);
CREATE INDEX customer_town ON customer(town, name);

SELECT 'towns', count(*), sum(spent), max(spent) FROM (
  SELECT town, sum(price * pieces) AS spent
  FROM purchase JOIN customer ON customer.id = purchase.customer JOIN article ON article.id = purchase.article
  GROUP BY town);
SELECT 'best', a.name, sum(p.pieces) AS sold, group_concat(DISTINCT p.pieces)
FROM purchase p JOIN article a ON a.id = p.article GROUP BY a.id ORDER BY sold DESC, a.name LIMIT 5;
SELECT 'pairs', count(*) FROM purchase p JOIN purchase q ON p.customer = q.customer AND p.article < q.article
  AND q.customer < 2000;
SELECT 'ranks', sum(place) FROM (
  SELECT rank() OVER (PARTITION BY town ORDER BY name DESC) AS place FROM customer);
SELECT 'json', sum(length(line)), sum(json_extract(line, '$.price')) FROM (
  SELECT json_object('id', id, 'name', name, 'price', price, 'tags', json_array(id % 3, id % 5)) AS line FROM article);

UPDATE purchase SET note = upper(coalesce(note, 'none')) || '-' || id WHERE id % 2 = 0;
DELETE FROM purchase WHERE customer % 7 = 3;
SELECT 'left', count(*), sum(length(note)) FROM purchase;
SELECT 'notes', count(DISTINCT substr(note, 1, 12)) FROM purchase;
PRAGMA integrity_check;
