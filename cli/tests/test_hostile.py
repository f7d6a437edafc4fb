# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every file that a command reads, damaged in many ways: a result or one line, within bounds of time and memory, and
nothing that steers a terminal.

The files are those of one real process, and a trace and a report of a crash as their formats say. HAK_TEST_SCALE
multiplies the number of damaged copies; with FUZZ_SECONDS copies are made that long, each from a number not used before.
"""

from __future__ import annotations

import gzip
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path

from support import BUILD, ROOT, clean_environment

from hakmem import cli
from hakmem.base.exit import end_with

FUZZ_SECONDS = int(os.environ.get("FUZZ_SECONDS", "0"))
COPIES = 8 * int(os.environ.get("HAK_TEST_SCALE", "1"))
SECONDS = 20  # of processor time, for one copy
MEMORY = 2 << 30  # bytes of address space
SCRIPT = "import random\nl=[bytes(random.randrange(9, 3000)) for _ in range(20000)]\ndel l[::3]\nl+=[b'x'*1200000 for _ in range(9)]"
FILES = {
    "stats": ("STATS_FILE", ("top", "--once", "FILE")),
    "samples": ("PROFILE_TABLE", ("profile", "FILE")),
    "profile": ("PROFILE_FILE", ("profile", "--leaks", "FILE")),
    "page": ("PROFILE_FILE", ("report", "FILE", "-o", "OUT")),
    "decisions": ("DECISIONS_FILE", ("decisions", "FILE")),
    "policy": ("POLICY_FILE", ("policy", "FILE")),
}
WRITTEN = {"trace": ("sites", "--least", "1", "--trace", "FILE"), "crash": ("crash", "FILE")}
COMMANDS = {kind: command for kind, (_, command) in FILES.items()} | WRITTEN
REPORT = """hakmem: guard: use after free: write to 0x7f0000001008, 8 B into a freed block of 24 B
hakmem: guard: faulted, thread 3: 0x401136 0x401200
hakmem: guard: taken, thread 3: 0x401200 0x401300
hakmem: guard: freed, thread 4: 0x402200 0x401300
hakmem: guard: image 0x401000 to 0x403000 offset 0x1000 id 00ff, {program}
"""


def made(folder: Path) -> dict[str, Path]:
    """The files of a process, by the names of FILES; a policy's has no process number."""
    settings = {f"HAKMEM_{name}": str(folder / name) for name, _ in FILES.values()}
    settings |= {"HAKMEM_LAB_LEARN_KEEP": "on", "HAKMEM_PROFILE_BYTES": "64K", "PYTHONMALLOC": "malloc"}
    child = subprocess.Popen([sys.executable, "-S", "-c", SCRIPT],
                             env=clean_environment(LD_PRELOAD=str(BUILD / "libhakmem.so"), **settings))
    if child.wait() != 0:
        raise AssertionError("the process that writes the files failed")
    found = {kind: next(folder.glob(f"{name}*")) for kind, (name, _) in FILES.items()}
    return found | written(folder)


def written(folder: Path) -> dict[str, Path]:
    """Those that no setting writes."""
    sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
    from seeds import seed_trace

    files = {kind: folder / kind for kind in WRITTEN}
    files["trace"].write_bytes(gzip.compress(seed_trace(random.Random(1))))
    files["crash"].write_text(REPORT.format(program=sys.executable) * 3)
    return files


# ---- damage ----

def flipped(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 4, 64))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)):]


def enlarged(data: bytearray, chance: random.Random) -> None:
    """A number that may be a count, an offset or a length."""
    at = chance.randrange(max(len(data) - 8, 1))
    data[at:at + 8] = chance.choice((b"\xff" * 8, b"\xff" * 4, b"\x00" * 8, b"\x00\x00\x00\x7f", b"\xff\xff\xff\x7f"))


def repeated(data: bytearray, chance: random.Random) -> None:
    at, n = chance.randrange(len(data)), chance.randrange(1, 4096)
    data[at:at] = data[at:at + n] * chance.choice((1, 30))


def with_escapes(data: bytearray, chance: random.Random) -> None:
    """Where text is: what would colour a terminal or set its title."""
    places = [at for at in range(0, min(len(data), 1 << 20)) if data[at:at + 4].isalpha()]
    for at in chance.sample(places, min(len(places), 8)):
        data[at:at + 4] = b"\x1b[31"


DAMAGE: tuple[Callable[[bytearray, random.Random], None], ...] = (flipped, cut, enlarged, repeated, with_escapes)


def damaged(whole: bytes, chance: random.Random) -> bytes:
    """Inside of what is packed, mostly: damage outside is found by its sum."""
    packed = whole[:2] == b"\x1f\x8b" and chance.random() < 0.9
    data = bytearray(gzip.decompress(whole) if packed else whole)
    for _ in range(chance.choice((1, 1, 3))):
        if data:
            chance.choice(DAMAGE)(data, chance)
    return gzip.compress(bytes(data), 1) if packed else bytes(data)


# ---- one command ----

def become(words: list[str], out: int, err: int) -> None:
    status: object = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        os.environ.clear()
        os.environ.update(clean_environment(COLUMNS="100"))
        end_with(lambda: cli.carry_out(words))
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 1)


def new_seeds() -> Iterator[int]:
    """For FUZZ_SECONDS, from a number that no run before began with."""
    first, end = time.time_ns(), time.monotonic() + FUZZ_SECONDS
    while time.monotonic() < end:
        yield first
        first += 1


class Hostile(unittest.TestCase):
    folder: Path
    files: dict[str, Path]

    @classmethod
    def setUpClass(cls) -> None:
        holder = tempfile.TemporaryDirectory(prefix="hakmem-test-")
        cls.addClassCleanup(holder.cleanup)
        cls.folder = Path(holder.name)
        cls.files = made(cls.folder)

    def ended(self, words: list[str]) -> tuple[int, bytes, bytes]:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if child == 0:
                become(words, out.fileno(), err.fileno())
            _, status = os.waitpid(child, 0)
            out.seek(0)
            err.seek(0)
            return os.waitstatus_to_exitcode(status), out.read(), err.read()

    def judge(self, words: list[str], what: str) -> None:
        status, out, err = self.ended(words)
        self.assertNotIn(-status, (signal.SIGXCPU, signal.SIGKILL, signal.SIGSEGV), what)
        self.assertIn(status, (0, 1, 2), f"{what}: {err[-500:]!r}")
        self.assertNotIn(b"Traceback", err, f"{what}: {err[-900:].decode(errors='replace')}")
        self.assertLess(len(err.splitlines()), 6, f"{what}: {err[:500]!r}")
        self.assertNotRegex((out + err).decode(errors="replace"), "[\0-\x08\x0b-\x1f\x7f-\x9f]", what)
        self.assertLess(len(out), 4 << 20, what)

    def judge_copy(self, kind: str, seed: object) -> None:
        whole = self.files[kind].read_bytes()
        hurt = self.folder / f"hurt-{self.files[kind].name}"
        words = [{"FILE": str(hurt), "OUT": str(self.folder / "page.html")}.get(word, word) for word in COMMANDS[kind]]
        hurt.write_bytes(damaged(whole, random.Random(f"{kind} {seed}")))
        with self.subTest(kind, seed=seed):
            self.judge(words, f"{kind}, seed {seed}")

    def test_each_kind(self) -> None:
        for kind in COMMANDS:
            for seed in range(COPIES):
                self.judge_copy(kind, seed)

    @unittest.skipUnless(FUZZ_SECONDS, "FUZZ_SECONDS is not set")
    def test_for_a_time(self) -> None:
        copies = 0
        for seed in new_seeds():
            for kind in COMMANDS:
                self.judge_copy(kind, seed)
                copies += 1
        print(f"{copies} damaged files", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
