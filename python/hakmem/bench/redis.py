"""redis-server under the load of redis-benchmark, over a unix socket and without persistence.

The server is what is measured and preloaded; the client runs on what the system has. Keys are random, but each is set
so often that the same keys hold the same values in the end.
"""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic

from hakmem import launch
from hakmem.errors import Refusal, TimedOut
from hakmem.launch import Figures, Launcher, OpenStreams, Streams

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
ASKED = "\n".join(["DBSIZE", "LLEN mylist", "LRANGE mylist 0 50", *(f"GET key:{key:012}" for key in range(20))])


def run(
    launcher: Path, folder: Path, environ: Mapping[str, str], tracer: tuple[str, ...], timeout: float
) -> tuple[Figures, float, int, str]:
    """The server's figures, nanoseconds per request, how many requests, and the digest of what is stored then."""
    socket = folder / "socket"
    command = [*tracer, SERVER, *SETTINGS, "--dir", str(folder), "--unixsocket", str(socket)]
    with serving(launcher, command, environ, folder, timeout):
        spent = sum(request_all(Launcher(launcher, folder), load.argv(socket), folder, timeout) for load in LOADS)
        stored = ask(socket, ASKED)
        ask(socket, "SHUTDOWN NOSAVE")
    figures = launch.checked(SERVER, launch.parse_figures((folder / "server").read_text()))
    if figures.status != 0:
        raise Refusal(f"{SERVER} {figures.end}")
    return figures, spent / REQUESTS, REQUESTS, sha256(stored).hexdigest()


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


def ask(socket: Path, questions: str) -> bytes:
    command = [QUESTIONS, "-s", str(socket)]
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
            launch.stops.let_in()
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
