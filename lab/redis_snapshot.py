# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory of redis while a child writes a snapshot and the server goes on writing, on HAKMEM and its peers.

    build/venv/bin/python lab/redis_snapshot.py                      # all that are installed, a minute each
    build/venv/bin/python lab/redis_snapshot.py hakmem,glibc         # these

Server and child are in a control group of their own. Its usage, less the page cache, counts what the kernel keeps of huge
pages that were given back in part, too. Needs root and a memory controller (cgroup v1 or v2). Columns, MiB but for
the last: the group's usage when all keys are set, its most during BGSAVE under writes, 30 s after it, 10 s after FLUSHALL;
anonymous huge bytes at these four moments; whether the library was mapped by the server.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator, chosen, find_allocators
from hakmem.process.places import find_library

MIB = 1 << 20
KEYS, BYTES = 300_000, 512
REST_SECONDS, FLUSHED_SECONDS = 30, 10
ROOTS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))
USAGES = ("memory.usage_in_bytes", "memory.current")


@contextmanager
def group() -> Iterator[Path]:
    """A control group that counts memory; it goes when its processes have ended."""
    name = f"redis-snapshot-{os.getpid()}"
    for root in ROOTS:
        folder = root / name
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            if any((folder / usage).exists() for usage in USAGES):
                yield folder
                return
        finally:
            folder.rmdir()
    raise Refusal("no control group that counts memory can be made here (as root, with a memory controller)")


def usage(folder: Path) -> int:
    """Bytes charged to the group, without the page cache of the snapshot's file."""
    charged = next(folder / name for name in USAGES if (folder / name).exists())
    stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    return int(charged.read_text()) - int(stat.get("cache", stat.get("file", 0)))


def huge_bytes(pid: int) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) << 10 for line in rollup.splitlines() if line.startswith("AnonHugePages"))


class Server:
    """redis without a file of its own but the snapshot, in a temporary folder."""

    def __init__(self, allocator: Allocator, folder: Path, cgroup: Path) -> None:
        def enter() -> None:
            (cgroup / "cgroup.procs").write_text(str(os.getpid()))

        environ = {**os.environ, "LD_PRELOAD": allocator.preload}
        self.socket, self.cgroup = folder / "socket", cgroup
        words = ("redis-server", "--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", str(folder))
        self.process = subprocess.Popen(words, env=environ, stdout=subprocess.DEVNULL, preexec_fn=enter)
        while not self.socket.exists():
            if self.process.poll() is not None:
                raise Refusal(f"redis-server ended on {allocator.name}")
            time.sleep(0.05)

    def ask(self, *words: str) -> str:
        return subprocess.run(("redis-cli", "-s", str(self.socket), *words), check=True, capture_output=True, text=True).stdout

    def write(self, requests: int) -> subprocess.Popen[bytes]:
        words = ("redis-benchmark", "-s", str(self.socket), "-q", "-c", "8", "-P", "16", "-t", "set", "-d", str(BYTES),
                 "-n", str(requests), "-r", str(KEYS))
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def state(self) -> tuple[int, int]:
        return usage(self.cgroup), huge_bytes(self.process.pid)

    def is_saving(self) -> bool:
        return "rdb_bgsave_in_progress:1" in self.ask("info", "persistence")

    def serves(self, allocator: Allocator) -> bool:
        maps = Path(f"/proc/{self.process.pid}/maps").read_text()
        return allocator.so_file is None or str(allocator.so_file) in maps


def save_under_writes(server: Server) -> tuple[int, int]:
    """The most of usage, and of huge bytes, until the child has ended."""
    writer, states = server.write(KEYS), [server.state()]
    server.ask("bgsave")
    while server.is_saving() or writer.poll() is None:
        states.append(server.state())
        time.sleep(0.02)
    return max(state[0] for state in states), max(state[1] for state in states)


def measure(allocator: Allocator) -> tuple[list[tuple[int, int]], bool]:
    with tempfile.TemporaryDirectory() as folder, group() as cgroup:
        server = Server(allocator, Path(folder), cgroup)
        try:
            server.write(3 * KEYS).wait()
            states = [server.state(), save_under_writes(server)]
            time.sleep(REST_SECONDS)
            states.append(server.state())
            server.ask("flushall", "sync")
            time.sleep(FLUSHED_SECONDS)
            return [*states, server.state()], server.serves(allocator)
        finally:
            server.process.kill()
            server.process.wait()


def main(names: str | None) -> int:
    found, missing = find_allocators(find_library(None, None), ())
    allocators = chosen(found, names)
    for reason in [] if names else missing:
        print(f"redis_snapshot: not measured, because missing: {reason}", file=sys.stderr)
    print("| | set | most while saved | 30 s later | flushed | huge: set | saved | later | flushed | served |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    for allocator in allocators:
        states, served = measure(allocator)
        cells = [f"{usage / MIB:.0f}" for usage, _ in states] + [f"{huge / MIB:.0f}" for _, huge in states]
        print(f"| {allocator} | {' | '.join(cells)} | {'yes' if served else 'NO'} |", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))
    except (Refusal, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"redis_snapshot: {error}")
