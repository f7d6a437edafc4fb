# SPDX-License-Identifier: MIT OR Apache-2.0
"""MariaDB: a server from nothing, InnoDB and Aria, joins, a procedure, clients side by side, dump."""

import signal

from harness.session import Session

LOG = "server.log"
SOCKET = "sock"
SCRIPT = """
CREATE DATABASE work CHARACTER SET utf8mb4; USE work;
CREATE TABLE author (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(80), KEY (name)) ENGINE=InnoDB;
CREATE TABLE book (id INT PRIMARY KEY, author INT, title TEXT, extra JSON, price DECIMAL(9,2),
  FOREIGN KEY (author) REFERENCES author (id), FULLTEXT KEY (title)) ENGINE=InnoDB;
CREATE TABLE note (id INT PRIMARY KEY, body LONGTEXT) ENGINE=Aria;
INSERT INTO author (name) SELECT CONCAT('author ', seq) FROM seq_1_to_500;
INSERT INTO book SELECT seq, 1 + seq % 500, CONCAT('title ', seq, ' of größe ', seq % 97),
  JSON_OBJECT('n', seq, 'list', JSON_ARRAY(seq, seq * 2)), seq / 7 FROM seq_1_to_40000;
INSERT INTO note SELECT seq, REPEAT(CONCAT('note ', seq, ' '), 50 + seq % 400) FROM seq_1_to_3000;
DELIMITER //
CREATE PROCEDURE raise_prices(IN step INT) BEGIN
  DECLARE i INT DEFAULT 0;
  WHILE i < 300 DO UPDATE book SET price = price + step WHERE id = i; SET i = i + 1; END WHILE;
END //
DELIMITER ;
CALL raise_prices(3);
SELECT a.name, COUNT(*), SUM(b.price), MIN(b.title) FROM book b JOIN author a ON a.id = b.author
  GROUP BY a.id ORDER BY SUM(b.price) DESC, a.name LIMIT 40;
SELECT MD5(GROUP_CONCAT(title ORDER BY title SEPARATOR ',')) FROM book WHERE id < 3000;
SELECT COUNT(*), SUM(JSON_VALUE(extra, '$.list[1]')) FROM book WHERE JSON_VALUE(extra, '$.n') % 3 = 0;
SELECT COUNT(*) FROM book WHERE MATCH(title) AGAINST ('+title +13' IN BOOLEAN MODE);
SELECT id, RANK() OVER (PARTITION BY author ORDER BY price DESC) r FROM book WHERE author < 20
  ORDER BY author, r LIMIT 50;
WITH RECURSIVE t(n, s) AS
  (SELECT 1, CAST('1' AS CHAR(9000)) UNION ALL SELECT n + 1, CONCAT(s, ',', n) FROM t WHERE n < 900)
  SELECT MD5(MAX(s)) FROM t;
SELECT SHA2(GROUP_CONCAT(body ORDER BY id SEPARATOR ''), 256) FROM (SELECT * FROM note WHERE id < 60) n;
ALTER TABLE book ADD COLUMN year INT DEFAULT 2024, ADD KEY (year);
DELETE FROM book WHERE id % 11 = 0;
OPTIMIZE TABLE note;
CHECK TABLE author, book, note EXTENDED;
CHECKSUM TABLE author, book, note;
"""
LOAD = ("--concurrency=1,8", "--iterations=2", "--auto-generate-sql", "--auto-generate-sql-load-type=mixed",
        "--number-of-queries=1200", "--auto-generate-sql-unique-query-number=20", "--silent")


def run(session: Session) -> None:
    """A server from nothing to a loaded copy of its dump."""
    session.as_ordinary_user()
    place = ("--no-defaults", f"--datadir={session.work / 'data'}")
    session.run("mariadb-install-db", *place, "--auth-root-authentication-method=normal", "--skip-test-db")
    server = session.start("mariadbd", *place, f"--socket={session.work / SOCKET}", "--skip-networking",
                           "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", log=LOG)
    session.wait_until((session.work / SOCKET).is_socket, server, LOG)

    def client(name: str, *words: str, stdin: str = "") -> str:
        options = ("--no-defaults", f"--socket={session.work / SOCKET}", "-uroot")
        return session.run(name, *options, *words, stdin=stdin.encode()).stdout

    client("mariadb", "--table", "--default-character-set=utf8mb4", stdin=SCRIPT)
    client("mariadb-slap", *LOAD)
    dump = client("mariadb-dump", "--skip-dump-date", "--routines", "--hex-blob", "work")
    client("mariadb", "-e", "CREATE DATABASE copy")
    client("mariadb", "copy", stdin=dump)
    client("mariadb", "-e", "CHECKSUM TABLE copy.author, copy.book, copy.note")
    client("mariadb-check", "--all-databases", "--silent")
    session.stop(server, "mariadbd", signal.SIGTERM)
