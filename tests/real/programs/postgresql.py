# SPDX-License-Identifier: MIT OR Apache-2.0
"""PostgreSQL: initdb, pgbench, parallel and compiled queries, dump, restore, dumps compared."""

import signal
from pathlib import Path

from harness.session import CaseError, Session

LOG = "server.log"
SETTINGS = (
    "listen_addresses=", "fsync=off", "max_wal_senders=0", "wal_level=minimal", "shared_buffers=64MB", "jit=off",
    "max_parallel_workers_per_gather=2", "min_parallel_table_scan_size=0", "parallel_setup_cost=0",
    "autovacuum_naptime=1", "log_checkpoints=off",
)
SCRIPT = """
\\set ON_ERROR_STOP on
CREATE TABLE item (id int PRIMARY KEY, name text, tags text[], body jsonb) WITH (autovacuum_enabled = off);
INSERT INTO item SELECT i, 'item ' || i, ARRAY['t' || i % 7, 't' || i % 11],
  jsonb_build_object('n', i, 'list', to_jsonb(ARRAY[i, i + 1, i * 2])) FROM generate_series(1, 60000) i;
CREATE INDEX ON item USING gin (body);
CREATE INDEX ON item (name);
CREATE FUNCTION checksum() RETURNS text LANGUAGE plpgsql AS $$
DECLARE sum text := ''; row item;
BEGIN
  FOR row IN SELECT * FROM item WHERE id % 100 = 0 ORDER BY id LOOP sum := md5(sum || row.name || row.body); END LOOP;
  RETURN sum;
END $$;
SELECT checksum();
SELECT id % 13 AS k, count(*), sum(length(body::text)), min(name), max(name) FROM item GROUP BY k ORDER BY k;
SELECT count(*) FROM item a JOIN item b ON a.id = (b.body->>'n')::int WHERE a.tags && ARRAY['t3'];
SELECT md5(string_agg(name, ',' ORDER BY name COLLATE "C" DESC)) FROM item;
SELECT count(*) FROM item WHERE body @> '{"list": [500]}';
WITH RECURSIVE t(n, s) AS (SELECT 1, '1' UNION ALL SELECT n + 1, s || ',' || n FROM t WHERE n < 2000)
  SELECT md5(max(s)) FROM t;
SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0;
SELECT sum(id * 2 + length(name)), count(*) FILTER (WHERE id % 5 = 2) FROM item WHERE name LIKE '%7%' AND id > 10;
RESET jit;
UPDATE item SET body = body || '{"seen": true}' WHERE id % 3 = 0;
DELETE FROM item WHERE id % 17 = 0;
VACUUM (ANALYZE, PARALLEL 2) item;
SELECT count(*), checksum() FROM item;
"""


def programs() -> Path:
    """Debian keeps the server's programs in a folder of each version; the newest counts."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    if not found:
        raise CaseError("no PostgreSQL in /usr/lib/postgresql")
    return found[-1]


def run(session: Session) -> None:
    """A cluster from nothing to a restored dump."""
    session.as_ordinary_user()
    folder = programs()
    env = {"PGHOST": str(session.work), "PGUSER": "owner", "PGDATABASE": "postgres", "PGTZ": "UTC"}

    def client(name: str, *words: str, stdin: str = "") -> None:
        session.run(str(folder / name), *words, stdin=stdin.encode(), env=env)

    client("initdb", "-D", "data", "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
    options = [word for setting in SETTINGS for word in ("-c", setting)]
    server = session.start(str(folder / "postgres"), "-D", "data", "-k", str(session.work), *options, log=LOG)
    session.wait_until(lambda: "ready to accept" in (session.work / LOG).read_text(), server, LOG)
    client("createdb", "work")
    client("psql", "-X", "-q", "-d", "work", stdin=SCRIPT)
    client("createdb", "bench")
    client("pgbench", "-i", "-q", "-s", "4", "bench")
    client("pgbench", "-c", "4", "-j", "2", "-t", "500", "--random-seed=7", "bench")
    client("pgbench", "-S", "-M", "prepared", "-c", "4", "-j", "2", "-t", "2000", "bench")
    client("pg_dump", "-Fp", "-f", "first.sql", "work")
    client("pg_dump", "-Fc", "-f", "work.dump", "work")
    client("createdb", "copy")
    client("pg_restore", "-j", "2", "-d", "copy", "work.dump")
    client("pg_dump", "-Fp", "-f", "second.sql", "copy")
    session.run("sed", "-i", r"/^\\\(un\)\?restrict /d", "first.sql", "second.sql")  # a random word in every dump
    session.run("cmp", "first.sql", "second.sql")
    session.result("first.sql")
    session.stop(server, "postgres", signal.SIGINT)
