# SPDX-License-Identifier: MIT OR Apache-2.0
"""The programs of the front, a row each: half of them servers, which are asked over the loopback or a socket.

Each run has a folder of its own, a copy of one that was prepared once; the program starts in it. What it is given is
the same each time, and so is the amount of work.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem_lab.corpus.table import PROGRAMS as CORPUS
from hakmem_lab.pareto import scripts, servers
from hakmem_lab.pareto.servers import Ground, Load

SERVER, BATCH = "server", "batch"
ROOM_FOR_PORT = "{port}"


@dataclass(frozen=True)
class Real:
    """`words` and the texts of `files` may name {port} and {folder}, in words only as a whole or a part of one."""

    name: str
    package: str  # of Debian
    commands: tuple[str, ...]  # that must be there
    words: tuple[str, ...]
    heart: str  # the executable that does the work
    files: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    stdin: str | None = None
    ordinary: bool = False  # does not run as root
    prepare: Callable[[Ground], None] | None = None
    load: Callable[[Load], None] | None = None  # of a server

    @property
    def kind(self) -> str:
        return SERVER if self.load else BATCH

    @property
    def missing(self) -> list[str]:
        return [command for command in self.commands if shutil.which(command) is None]


def from_corpus(name: str, called: str, heart: str, longer: tuple[str, str] = ("", "")) -> Real:
    """As `hakmem-lab corpus` records it; `longer`: what in its text or words makes it last for seconds, and what it becomes."""
    row = next(row for row in CORPUS if row.name == name)
    text = row.text
    files = {row.file: lambda: text().replace(*longer)} if row.file and text else {}
    words = tuple(word.replace(*longer) for word in row.words)
    return Real(called, row.package, row.commands, words, heart, files, row.variables, row.file if row.stdin else None)


def server(name: str, package: str, commands: tuple[str, ...], words: tuple[str, ...], **more: object) -> Real:
    return Real(name, package, commands, words, more.pop("heart", Path(words[0]).name), **more)  # type: ignore[arg-type]


NO_HISTORY = ("--save", "", "--appendonly", "no", "--daemonize", "no")
MEMCACHED = ("memcached", "-l", "127.0.0.1", "-p", ROOM_FOR_PORT, "-U", "0", "-m", "192", "-t", "2", "-I", "4m", "-c", "512")
NGINX = ("nginx", "-p", ".", "-c", "nginx.conf", "-e", "error.log")
APACHE = ("apache2", "-d", ".", "-f", "apache.conf", "-DFOREGROUND")
MARIADB = ("mariadbd", *servers.MARIADB_PLACE, "--socket={folder}/socket", "--skip-networking",
           "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M")
GIT = ("git", "-c", "pack.threads=2", "gc", "-q", "--aggressive", "--prune=now")

PROGRAMS = (
    server("redis", "redis-server redis-tools", ("redis-server", "redis-benchmark", "redis-cli"),
           ("redis-server", "--port", "0", "--unixsocket", "socket", *NO_HISTORY), load=servers.redis),
    server("memcached", "memcached", ("memcached",), MEMCACHED, ordinary=True, load=servers.memcached),
    server("nginx", "nginx-light apache2-utils", ("nginx", "ab"), NGINX, ordinary=True,
           files={"nginx.conf": scripts.nginx_settings}, prepare=servers.web_files, load=servers.nginx),
    server("apache-php", "apache2 apache2-utils libapache2-mod-php", ("apache2", "ab"), APACHE, ordinary=True,
           files={"apache.conf": scripts.apache_settings, "page.php": scripts.page}, load=servers.apache),
    server("postgresql", "postgresql-15", ("psql", "pgbench"), (servers.postgres_program("postgres"), *servers.POSTGRES),
           ordinary=True, prepare=servers.prepare_postgres, load=servers.postgres),
    server("mariadb", "mariadb-server", ("mariadbd", "mariadb-slap"), MARIADB, ordinary=True,
           prepare=servers.prepare_mariadb, load=servers.mariadb),
    server("node-http", "nodejs apache2-utils", ("node", "ab"), ("node", "server.js", ROOM_FOR_PORT),
           files={"server.js": scripts.node_server, "order.json": scripts.order}, load=servers.node),
    server("python-http", "python3 apache2-utils", ("/usr/bin/python3", "ab"),
           ("/usr/bin/python3", "-s", "server.py", ROOM_FOR_PORT), heart="python3",
           files={"server.py": scripts.python_server, "order.json": scripts.order}, load=servers.python),
    from_corpus("g++", "g++", "cc1plus"),
    from_corpus("python3-malloc", "python", "python3", ("range(12)", "range(48)")),
    from_corpus("sqlite3", "sqlite3", "sqlite3"),
    from_corpus("ghostscript", "ghostscript", "gs", ("1 1 12 {", "1 1 20 {")),
    from_corpus("ffmpeg", "ffmpeg", "ffmpeg", ("duration=20", "duration=60")),
    from_corpus("z3", "z3", "z3"),
    from_corpus("node", "node", "node"),
    Real("git", "git", ("git",), GIT, "git", prepare=servers.prepare_git),
)


def chosen(names: str | None) -> list[Real]:
    """--programs a,b: in the order of the table; `server` and `batch` name all of a kind."""
    if names is None:
        return list(PROGRAMS)
    wanted = {name.strip() for name in names.split(",")}
    known = [row.name for row in PROGRAMS]
    for name in wanted - {*known, SERVER, BATCH}:
        near = get_close_matches(name, known, 1)
        raise Refusal(f"--programs {name}: no such program ({f'nearest: {near[0]}' if near else ', '.join(known)})")
    return [row for row in PROGRAMS if row.name in wanted or row.kind in wanted]


def installed(rows: list[Real]) -> tuple[list[Real], list[str]]:
    """Those that are there, and a line for each that is not."""
    missing = [f"{row.name} (apt-get install {row.package})" for row in rows if row.missing]
    return [row for row in rows if not row.missing], missing


def settled(row: Real, port: int, folder: Path) -> Real:
    """With {port} and {folder} filled in."""
    return replace(row, words=tuple(filled(word, port, folder) for word in row.words))


def filled(text: str, port: int, folder: Path) -> str:
    return text.replace("{port}", str(port)).replace("{folder}", str(folder))
