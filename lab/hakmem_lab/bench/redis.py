# SPDX-License-Identifier: MIT OR Apache-2.0
"""redis-server under the load of redis-benchmark, over a unix socket and without persistence.

The server is what is measured and preloaded; the client runs on what the system has. Keys are random, but each is set
so often that the same keys hold the same values in the end. When the timed load is over, the server's memory is looked
at: filled with values of mixed sizes, after most of them were deleted in random order, and after two idle seconds.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from time import monotonic, sleep

from hakmem.base.errors import Refusal, TimedOut
from hakmem.base.stop import stops
from hakmem.process import launch
from hakmem.process.launch import Figures, Launcher, OpenStreams, Streams

SERVER, CLIENT, QUESTIONS = "redis-server", "redis-benchmark", "redis-cli"
COMMANDS = (SERVER, CLIENT, QUESTIONS)
OPERATION = "one request to redis-server: set, get, lpush, lrange of 100; 16 to a packet"
READY = b"eady to accept connections"
KEYS = 4000
SETTINGS = ("--port", "0", "--save", "", "--appendonly", "no", "--daemonize", "no", "--activerehashing", "no")


@dataclass(frozen=True)
class Load:
    """One run of the client; with lrange it fills the list by lpush first, which makes `kinds` one more."""

    tests: str
    kinds: int
    requests: int  # of each kind
    value_bytes: int

    def argv(self, socket: Path) -> list[str]:
        words = ("-P", "16", "-c", "16", "-r", str(KEYS), "-n", str(self.requests), "-d", str(self.value_bytes))
        return [CLIENT, "-s", str(socket), *words, "-t", self.tests, "-q"]


LOADS = (
    Load("set,get", 2, 96000, 64),
    Load("set,get,lpush", 3, 80000, 500),
    Load("get,lrange_100", 3, 24000, 200),
)
REQUESTS = sum(load.kinds * load.requests for load in LOADS)
# The fill: so many keys, of which one in KEPT stays; sizes of values, and how often of a hundred they are drawn.
FILL_KEYS, KEPT = 100_000, 10
FILL_SIZES = ((84, 16, 512), (15, 513, 4096), (1, 4097, 32768))
IDLE_SECONDS = 2
PAGE_KIB = os.sysconf("SC_PAGESIZE") // 1024
ASKED = "\n".join(["DBSIZE", "LLEN mylist", "LRANGE mylist 0 50", *(f"GET key:{key:012}" for key in range(20))])


@dataclass(frozen=True)
class Served:
    """One run: the server's figures, and `digest` of what was stored after the timed load."""

    figures: Figures
    ns: float  # per request
    digest: str
    resident: Mapping[str, int]  # KiB: rss_full_kib, rss_deleted_kib, rss_idle_kib


def run(
    launcher: Path, folder: Path, environ: Mapping[str, str], tracer: tuple[str, ...], timeout: float
) -> Served:
    socket = folder / "socket"
    command = [*tracer, SERVER, *SETTINGS, "--dir", str(folder), "--unixsocket", str(socket)]
    with serving(launcher, command, environ, folder, timeout):
        spent = sum(request_all(Launcher(launcher, folder), load.argv(socket), folder, timeout) for load in LOADS)
        stored = ask(socket, ASKED)
        resident = fill_delete_idle(socket)
        ask(socket, "SHUTDOWN NOSAVE")
    figures = launch.checked(SERVER, launch.parse_figures((folder / "server").read_text()))
    if figures.status != 0:
        raise Refusal(f"{SERVER} {figures.end}")
    return Served(figures, spent / REQUESTS, sha256(stored).hexdigest(), resident)


# ---- what stays resident ----

def fill_delete_idle(socket: Path) -> dict[str, int]:
    """KiB after each; nothing is asked of the server while it idles."""
    pid = process_of(socket)
    filling, deleting = fill_commands()
    found = {}
    for name, commands in (("rss_full_kib", filling), ("rss_deleted_kib", deleting)):
        ask(socket, commands, "--pipe")
        found[name] = resident_kib(pid)
    sleep(IDLE_SECONDS)
    return found | {"rss_idle_kib": resident_kib(pid)}


@cache
def fill_commands() -> tuple[str, str]:
    """What fills, and what deletes all but one in KEPT, in random order; the same in every run."""
    random = Random(42)
    shares = [share for share, _, _ in FILL_SIZES]
    ranges = random.choices([(low, high) for _, low, high in FILL_SIZES], shares, k=FILL_KEYS)
    filling = [f"SET fill:{key} {'x' * random.randint(*sizes)}" for key, sizes in enumerate(ranges)]
    deleted = random.sample(range(FILL_KEYS), FILL_KEYS - FILL_KEYS // KEPT)
    return "\r\n".join([*filling, ""]), "\r\n".join([*(f"DEL fill:{key}" for key in deleted), ""])


def process_of(socket: Path) -> int:
    """The server itself, whatever traces it."""
    found = re.search(rb"^process_id:(\d+)", ask(socket, "INFO server"), re.MULTILINE)
    if found is None:
        raise Refusal(f"{SERVER} does not tell its process")
    return int(found[1])


def resident_kib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_KIB


# ---- the client ----

def plain_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def request_all(launcher: Launcher, argv: list[str], folder: Path, timeout: float) -> int:
    """Nanoseconds until all requests were answered."""
    streams = Streams(output=folder / "client", errors=folder / "client_errors")
    figures = launcher.run(argv, plain_environment(), streams, timeout=timeout)
    if figures.status != 0:
        raise Refusal(f"{CLIENT} {figures.end}: {(folder / 'client_errors').read_text(errors='replace').strip()}")
    return figures.wall_ns


def ask(socket: Path, questions: str, *options: str) -> bytes:
    command = [QUESTIONS, "-s", str(socket), *options]
    done = subprocess.run(command, input=questions.encode(), capture_output=True, env=plain_environment())
    if done.returncode != 0:
        raise Refusal(f"{SERVER} does not answer: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


# ---- the server ----

@contextmanager
def serving(
    launcher: Path, command: list[str], environ: Mapping[str, str], folder: Path, timeout: float
) -> Iterator[None]:
    """From when the server is ready until it has ended. The body shuts it down; one that does not end is stopped."""
    reading, writing = os.pipe()
    with open(os.devnull, "rb") as nothing, os.fdopen(reading, "rb") as log, os.fdopen(writing, "wb") as output:
        process = launch.start([str(launcher), str(folder / "server"), *command], environ,
                               OpenStreams(nothing, output, output))
        try:
            stops.let_in()
            output.close()
            wait_until_ready(log.fileno(), timeout)
            yield
            launch.wait_at_most(process, timeout)
            process.wait()
        except BaseException:
            launch.stop_session(process)
            raise


def wait_until_ready(log: int, timeout: float) -> None:
    """Reads the server's log until it says so; the little it writes later stays in the pipe."""
    said, end = b"", monotonic() + timeout
    while READY not in said:
        if not select.select([log], [], [], max(0.0, end - monotonic()))[0]:
            raise TimedOut(timeout)
        more = os.read(log, 1 << 16)
        if not more:
            raise Refusal(f"{SERVER} ended before it was ready: {last_words(said)}")
        said += more


def last_words(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
