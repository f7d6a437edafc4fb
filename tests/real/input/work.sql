-- SPDX-License-Identifier: MIT OR Apache-2.0
-- A deterministic database: made, changed, queried, vacuumed. Numbers come from arithmetic, never from random().
PRAGMA page_size = 4096;
PRAGMA journal_mode = WAL;
CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born INTEGER, data TEXT);
CREATE TABLE book (id INTEGER PRIMARY KEY, author INTEGER REFERENCES author(id), title TEXT, pages INTEGER, price REAL);
CREATE VIRTUAL TABLE shelf USING fts5(title, body);

BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO author SELECT i, 'author ' || printf('%05d', (i * 7919) % 2003), 1900 + (i * 31) % 100,
                          json_object('tags', json_array(i % 7, i % 11), 'note', hex(zeroblob(i % 40))) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
INSERT INTO book SELECT i, 1 + (i * 104729) % 2000, 'title ' || ((i * 15485863) % 99991) || ' of ' || (i % 17),
                        50 + (i * 37) % 900, round(5 + (i * 13) % 9000 / 100.0, 2) FROM n;
INSERT INTO shelf SELECT title, 'a book about ' || (pages % 50) || ' things and ' || (id % 13) || ' more'
                  FROM book WHERE id % 8 = 0;
COMMIT;

CREATE INDEX book_author ON book(author, pages);
CREATE INDEX book_title ON book(title COLLATE NOCASE);
ANALYZE;

SELECT count(*), sum(pages), round(avg(price), 4), min(title), max(title) FROM book;
SELECT a.name, count(*) AS books, sum(b.pages) FROM author a JOIN book b ON b.author = a.id
  GROUP BY a.id HAVING books > 15 ORDER BY books DESC, a.name LIMIT 10;
SELECT born, json_extract(data, '$.tags[0]') AS tag, count(*) FROM author GROUP BY born, tag
  ORDER BY 3 DESC, 1, 2 LIMIT 8;
SELECT author, title, rank() OVER (PARTITION BY author ORDER BY pages DESC, id) AS r FROM book WHERE author < 4
  ORDER BY author, r LIMIT 12;
SELECT count(*), group_concat(title, '|') FROM
  (SELECT title FROM shelf WHERE shelf MATCH 'things AND 7' ORDER BY rank, title LIMIT 5);
WITH RECURSIVE f(a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM f LIMIT 60) SELECT max(a) FROM f;
SELECT length(group_concat(hex(zeroblob(pages)), '')) FROM book WHERE id <= 3000;
EXPLAIN QUERY PLAN SELECT * FROM book WHERE author = 5 ORDER BY pages;

UPDATE book SET price = price * 1.1, title = title || ' (new edition)' WHERE id % 5 = 0;
DELETE FROM book WHERE id % 3 = 1;
SAVEPOINT s;
DELETE FROM author;
ROLLBACK TO s;
RELEASE s;
SELECT count(*), round(sum(price), 2) FROM book;
INSERT INTO shelf(shelf) VALUES ('optimize');
PRAGMA wal_checkpoint(TRUNCATE);
PRAGMA journal_mode = DELETE;
VACUUM;
SELECT count(*) FROM author;
