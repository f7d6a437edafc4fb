# SPDX-License-Identifier: MIT OR Apache-2.0
"""What each server is asked, phase by phase, with rests as the programs' users have them; and what is prepared once.

The work is the same in every run; clients run on what the system has.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random
from typing import Protocol

from hakmem.base.errors import Refusal
from hakmem_lab.pareto import scripts

REST_SECONDS = 0.7


class Load(Protocol):
    """One run of a server, as its load sees it."""

    port: int
    folder: Path

    def phase(self, name: str) -> None:
        """From here on time and memory count for this phase."""

    def rest(self, seconds: float) -> None:
        """A phase of its own, in which nothing is asked."""

    def ask(self, *words: str, stdin: str = "") -> str:
        """A client, from its start to its end, and what it printed."""

    def ask_all(self, *clients: tuple[tuple[str, ...], str]) -> None:
        """Several side by side."""

    def wait_for(self, path: str | None = None) -> None:
        """Until the port, or the socket in the folder, is listened at."""


class Ground(Protocol):
    """The folder that is prepared once, and of which each run gets a copy."""

    folder: Path

    def filled(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """With the folder in its place."""

    def run(self, *words: str) -> None:
        """As the program's user, in the folder."""

    def serving(self, *words: str) -> AbstractContextManager[Load]:
        """A server while it is prepared."""


# ---- redis ----

def redis(load: Load) -> None:
    """Small and large values, some that expire, a rest, the same again, all keys deleted, a rest."""
    load.wait_for("socket")
    for turn in ("first", "second"):
        load.phase(f"{turn} small")
        redis_load(load, "-t", "set,get,lpush", "-d", "64", "-n", "40000", "-r", "4000", "-P", "16")
        load.phase(f"{turn} large")
        redis_load(load, "-t", "set,get", "-d", "100000", "-n", "2000", "-r", "300")
        redis_load(load, "-t", "set,get", "-d", "3000000", "-n", "40", "-r", "8")
        redis_load(load, "-t", "set,get", "-d", "20000", "-n", "3000", "-r", "500")
        load.phase(f"{turn} mixed")
        redis_load(load, "-n", "4000", "-r", "3000", "setex", "temp:__rand_int__", "1", "x" * 9000)
        redis_load(load, "-n", "400", "-r", "40", "append", "big:__rand_int__", "y" * 40000)
        redis_load(load, "-n", "400", "-r", "3000", "hset", "hash:__rand_int__", "a", "z" * 500)
        load.rest(1.2)
    load.phase("deleted")
    load.ask("redis-cli", "-s", "socket", "flushall", "sync")
    load.rest(1.2)


def redis_load(load: Load, *words: str) -> None:
    load.ask("redis-benchmark", "-s", "socket", "-q", "-c", "16", *words)


# ---- memcached ----

KEYS, BURSTS = 6000, 3


def memcached(load: Load) -> None:
    """Sets of mixed sizes and gets, by 32 clients in turn; between the bursts they go, and come anew."""
    load.wait_for()
    for burst in range(BURSTS):
        load.phase(f"burst {burst + 1}")
        clients = [socket.create_connection(("127.0.0.1", load.port)) for _ in range(32)]
        for number, command in enumerate(memcached_commands(Random(burst))):
            exchange(clients[number % len(clients)], command)
        for client in clients:
            client.close()
        load.rest(REST_SECONDS)


def memcached_commands(random: Random) -> Iterator[bytes]:
    """Packets: some sets, then gets of many keys."""
    for _ in range(400):
        parts = []
        for _ in range(12):
            size = random.choices((random.randint(20, 400), random.randint(1000, 20000), random.randint(10**5, 10**6)),
                                  (80, 19, 1))[0]
            parts.append(b"set key:%d 0 60 %d\r\n%b\r\n" % (random.randrange(KEYS), size, b"v" * size))
        keys = b" ".join(b"key:%d" % random.randrange(KEYS) for _ in range(40))
        yield b"".join(parts) + b"get " + keys + b"\r\n"


def exchange(client: socket.socket, command: bytes) -> None:
    """Until the answer to the get, which ends with END, is there."""
    client.sendall(command)
    last = b""
    while not last.endswith(b"END\r\n"):
        more = client.recv(1 << 18)
        if not more:
            raise Refusal("memcached hung up")
        last = (last + more)[-16:]


# ---- web servers ----

def ab(load: Load, path: str, requests: int, at_once: int, *words: str) -> None:
    said = load.ask("ab", "-q", "-l", "-r", "-s", "60", "-n", str(requests), "-c", str(at_once), *words,
                    f"http://127.0.0.1:{load.port}{path}")
    if "Non-2xx" in said or "Complete requests" not in said:
        raise Refusal(f"not every request for {path} was answered")


def web_files(ground: Ground) -> None:
    random = Random(scripts.SEED)
    folder = ground.folder / "files"
    folder.mkdir()
    (folder / "page.html").write_text("<p>" + "some words and more words " * 800)
    (folder / "data.txt").write_text("\n".join(str(random.randrange(1 << 60)) for _ in range(40000)))
    (folder / "large.bin").write_bytes(random.randbytes(4 << 20))


PACKED = ("-H", "Accept-Encoding: gzip")


def nginx(load: Load) -> None:
    """Static files, many at once, packed, and through a proxy; two bursts with rests."""
    load.wait_for()
    for turn in ("first", "second"):
        load.phase(f"{turn} static")
        ab(load, "/page.html", 8000, 200, "-k")
        load.phase(f"{turn} packed")
        ab(load, "/data.txt", 150, 50, *PACKED)
        load.phase(f"{turn} proxied")
        ab(load, "/proxy/large.bin", 60, 20)
        ab(load, "/proxy/page.html", 1500, 100)
        ab(load, "/cached/data.txt", 150, 50, *PACKED)
        load.rest(REST_SECONDS)


def apache(load: Load) -> None:
    """Pages of three sizes by PHP, in bursts."""
    load.wait_for()
    for turn, (rows, requests) in enumerate(((200, 240), (4000, 24), (800, 100))):
        load.phase(f"burst {turn + 1}")
        ab(load, f"/page.php?n={turn}&rows={rows}", requests, 6, *PACKED)
        load.rest(REST_SECONDS)


ORDER = ("-p", "order.json", "-T", "application/json")


def node(load: Load) -> None:
    json_bursts(load, 60)


def python(load: Load) -> None:
    json_bursts(load, 30)


def json_bursts(load: Load, requests: int) -> None:
    """Bodies of 300 KB, few and many at once."""
    load.wait_for()
    for turn, at_once in enumerate((2, 12, 4)):
        load.phase(f"burst {turn + 1}")
        ab(load, "/", requests, at_once, *ORDER)
        load.rest(REST_SECONDS)


# ---- PostgreSQL ----

def postgres_program(name: str) -> str:
    """Debian keeps the server's programs in a folder of each version; the newest counts."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    return str(found[-1] / name) if found else name


POSTGRES_SETTINGS = ("listen_addresses=", "fsync=off", "max_wal_senders=0", "wal_level=minimal", "shared_buffers=32MB",
                     "jit=off", "max_parallel_workers_per_gather=0", "autovacuum=off")
POSTGRES = ("-D", "data", "-k", "{folder}", *(word for setting in POSTGRES_SETTINGS for word in ("-c", setting)))
SOCKET = ".s.PGSQL.5432"


def prepare_postgres(ground: Ground) -> None:
    """A cluster with the tables of pgbench and one more."""
    ground.run(postgres_program("initdb"), "-D", "data", "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8",
               "--no-sync")
    with ground.serving(postgres_program("postgres"), *POSTGRES) as load:
        load.wait_for(SOCKET)
        load.ask("pgbench", "-i", "-q", "-s", "3", *postgres_place(load))
        postgres_ask(load, scripts.postgres_tables())


def postgres_place(load: Load) -> tuple[str, ...]:
    return "-h", str(load.folder), "-U", "owner", "postgres"


def postgres_ask(load: Load, text: str) -> None:
    load.ask("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *postgres_place(load), stdin=text)


def postgres(load: Load) -> None:
    """Transactions, a rest, sorts and joins by two clients, a rest, look-ups by many, a rest."""
    load.wait_for(SOCKET)
    place = postgres_place(load)
    load.phase("transactions")
    load.ask("pgbench", "-c", "6", "-j", "2", "-t", "200", "--random-seed=7", "-n", *place)
    load.rest(REST_SECONDS)
    load.phase("questions")
    command = ("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *place)
    load.ask_all((command, scripts.postgres_questions()), (command, scripts.postgres_questions() * 2))
    load.rest(REST_SECONDS)
    load.phase("look-ups")
    load.ask("pgbench", "-S", "-M", "prepared", "-c", "12", "-j", "2", "-t", "600", "--random-seed=7", "-n", *place)
    load.rest(REST_SECONDS)


# ---- MariaDB ----

MARIADB_PLACE = ("--no-defaults", "--datadir={folder}/data", "--innodb-log-file-size=8M")
CLIENT = ("--no-defaults", "--socket={folder}/socket", "-uroot")
SLAP = ("--iterations=1", "--auto-generate-sql", "--auto-generate-sql-load-type=mixed",
        "--auto-generate-sql-unique-query-number=20", "--silent")


def prepare_mariadb(ground: Ground) -> None:
    ground.run("mariadb-install-db", *ground.filled(MARIADB_PLACE), "--auth-root-authentication-method=normal",
               "--skip-test-db")
    with ground.serving("mariadbd", *MARIADB_PLACE, "--socket={folder}/socket", "--skip-networking") as load:
        mariadb_ask(load, scripts.mariadb_tables())


def mariadb_client(load: Load, name: str, *words: str) -> tuple[str, ...]:
    return (name, *(word.replace("{folder}", str(load.folder)) for word in CLIENT), *words)


def mariadb_ask(load: Load, text: str) -> None:
    load.wait_for("socket")
    load.ask(*mariadb_client(load, "mariadb"), stdin=text)


def mariadb(load: Load) -> None:
    """Clients side by side, a rest, sorts and joins, a rest, more clients, a rest."""
    load.wait_for("socket")
    load.phase("few clients")
    load.ask(*mariadb_client(load, "mariadb-slap", *SLAP, "--concurrency=4", "--number-of-queries=800"))
    load.rest(REST_SECONDS)
    load.phase("questions")
    command = mariadb_client(load, "mariadb")
    load.ask_all((command, scripts.mariadb_questions()), (command, scripts.mariadb_questions() * 2))
    load.rest(REST_SECONDS)
    load.phase("many clients")
    load.ask(*mariadb_client(load, "mariadb-slap", *SLAP, "--concurrency=24", "--number-of-queries=1200"))
    load.rest(REST_SECONDS)


# ---- git ----

VERSIONS, FILES = 60, 8


def prepare_git(ground: Ground) -> None:
    """A repository with some thousand loose objects, which change a little each time."""
    identity = ("-c", "user.name=A U Thor", "-c", "user.email=author@example.com", "-c", "gc.auto=0")
    ground.run("git", *identity, "init", "-q", "-b", "main", ".")
    random = Random(scripts.SEED)
    lines = [[f"{random.getrandbits(200):x}" for _ in range(1500)] for _ in range(FILES)]
    for version in range(VERSIONS):
        for number, text in enumerate(lines):
            for _ in range(random.randint(1, 60)):
                text[random.randrange(len(text))] = f"{random.getrandbits(200):x} {version}"
            (ground.folder / f"file{number}.txt").write_text("\n".join(text))
        ground.run("git", *identity, "add", ".")
        ground.run("git", *identity, "commit", "-q", "-m", f"version {version}")
