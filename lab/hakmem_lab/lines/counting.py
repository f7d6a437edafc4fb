# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run of a pattern on an allocator, under the tool: figures for each call of malloc and free.

All code that runs within a call counts, libc's functions too. A run in which the allocator's own library had no instruction
was served by another one, and has no figures.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.peers import Allocator
from hakmem_lab.lines.building import Built

PATTERNS = ("burst", "exchange", "larson", "pass", "mixed", "rings", "sharing", "xmalloc", "server")
TIMEOUT = 300
PROXY = "_proxy"  # libtbbmalloc_proxy.so hands the calls on to libtbbmalloc.so
FIGURES = re.compile(r"own=(\d+) instructions=(\d+) locked=(\d+) locks=(\d+) stores=(\d+) loads=(\d+) longest=(\d+)")


@dataclass(frozen=True)
class Row:
    pattern: str
    threads: int
    turn: int  # steps


@dataclass(frozen=True)
class Counts:
    """Per call. Locks that were taken; stores to and loads of lines of cache that another thread wrote last. At the end
    the most instructions for which a lock was held, in any call."""

    instructions: float
    locked: float
    locks: float
    stores: float
    loads: float
    longest: float


def count(built: Built, row: Row, allocator: Allocator, calls: int, environ: Mapping[str, str] = os.environ) -> Counts:
    """Raises Refusal when the program fails or something else served it; an allocator may not run under valgrind."""
    name = allocator.so_file.name if allocator.so_file else "libc.so.6"
    preload = {"LD_PRELOAD": str(allocator.so_file)} if allocator.so_file else {}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        objects = f"{name},{name.replace(PROXY, '')}"
        command = ["valgrind", "--tool=lines", f"--object={objects}", f"--log-file={log}", str(built.program), row.pattern,
                   *map(str, (row.threads, row.turn, calls))]
        try:
            variables = {**environ, **preload, "VALGRIND_LIB": str(built.folder)}
            done = subprocess.run(command, env=variables, timeout=TIMEOUT, capture_output=True, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            raise Refusal(f"took longer than {TIMEOUT} s") from None
        said = log.read_text(errors="replace") if log.exists() else ""
    made, found = re.search(r"calls=(\d+)", done.stdout), FIGURES.search(said)
    if done.returncode != 0 or not made or not found:
        raise Refusal(f"exited with {done.returncode} under valgrind")
    own, *sums, longest = (int(number) for number in found.groups())
    if own < int(made[1]):
        raise Refusal(f"was served by something else than {name}")
    return Counts(*(one / int(made[1]) for one in sums), longest)
