# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs lab/bugs/bugs.cpp, one error a process, under each allocator, and makes a table of how it went.

    words that the process printed, and its status  ->  at once | later | passes, with what was damaged or leaked
"""

from __future__ import annotations

import os
import resource
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.base.scratch import scratch_folder
from hakmem.base.streams import show_progress
from hakmem.process.peers import BUILT_FOLDER, HAKMEM, Allocator, at_file, chosen, find_allocators, noted_version
from hakmem.process.places import SECURE_LIBRARY, candidate_roots

SOURCE = Path(__file__).parents[2] / "bugs" / "bugs.cpp"
COMPILER = ("g++", "-O1", "-w", "-fno-builtin", "-std=c++17", "-pthread")
LIMIT = 30  # seconds of a run
FLAVOURS = (("checks=on", {"HAKMEM_CHECKS": "on"}), ("guard_bytes=1", {"HAKMEM_GUARD_BYTES": "1"}))
SECURE = f"{HAKMEM}-secure"
CHECKED = ("mimalloc-secure", "snmalloc-checks", "hardened-malloc")  # by `make peers`, for this table alone
SCUDO = "libclang_rt.scudo_standalone-x86_64.so"


@dataclass(frozen=True)
class Column:
    name: str
    allocator: Allocator
    settings: dict[str, str]

    def environment(self) -> dict[str, str]:
        base = {"PATH": os.environ["PATH"], "LC_ALL": "C"} | self.settings
        return base | ({"LD_PRELOAD": self.allocator.preload} if self.allocator.preload else {})


@dataclass(frozen=True)
class Outcome:
    """Of one run."""

    said: frozenset[str]
    status: int

    @property
    def verdict(self) -> str:
        when = "passes" if "end" in self.said and self.status == 0 else "later" if "done" in self.said else "at once"
        harm = [word for word in ("damages", "leaks") if word in self.said]
        return f"{when}, {harm[0]}" if harm else when


# ---- what is run ----

def compiled(folder: Path) -> Path:
    program = folder / "bugs"
    done = subprocess.run([*COMPILER, "-o", program, SOURCE], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        why = next((line for line in done.stderr.splitlines() if "error" in line), "")
        raise Refusal(f"{SOURCE.name} does not compile: {why}")
    return program


def scudo() -> Iterator[str]:
    """Of clang's runtime, where it is installed."""
    for file in sorted(Path("/usr/lib/clang").glob(f"*/lib/linux/{SCUDO}"))[-1:]:
        yield f"scudo={file}"


def secure_flavour(library: Path) -> Iterator[Allocator]:
    file = library.with_name(SECURE_LIBRARY)
    if file.is_file():
        yield at_file(SECURE, file)


def checked_peers() -> Iterator[Allocator]:
    """Builds of peers with their checks on, where `make peers` made them."""
    for name in CHECKED:
        files = (root / BUILT_FOLDER / f"lib{name}.so" for root in candidate_roots())
        file = next((path for path in files if path.is_file()), None)
        if file:
            yield at_file(name, file, noted_version(file))


def columns(library: Path, peers: list[str], names: str | None) -> list[Column]:
    first, *others = find_allocators(library, [*peers, *scudo()])[0]
    allocators = chosen([first, *secure_flavour(library), *others, *checked_peers()], names, peers)
    found = []
    for allocator in allocators:
        found.append(Column(allocator.name, allocator, {}))
        if allocator.name == HAKMEM:
            found += [Column(f"{HAKMEM}, {name}", allocator, settings) for name, settings in FLAVOURS]
    return found


def refuse_another_server(program: Path, column: Column) -> None:
    said = subprocess.run([program, "--who"], env=column.environment(), capture_output=True, text=True, check=False)
    files = {os.path.realpath(line) for line in said.stdout.splitlines()}
    wanted = column.allocator.so_file
    right = files == {os.path.realpath(wanted)} if wanted else all("libc.so" in file for file in files)
    if not files or not right:
        raise Refusal(f"{column.name}: malloc and free come from {', '.join(sorted(files)) or 'nothing'}")


def run_once(program: Path, bug: str, column: Column) -> Outcome:
    no_core = partial(resource.setrlimit, resource.RLIMIT_CORE, (0, 0))
    try:
        ended = subprocess.run([program, bug], env=column.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               timeout=LIMIT, check=False, preexec_fn=no_core)
    except subprocess.TimeoutExpired as late:
        return Outcome(frozenset((late.stdout or b"").decode(errors="replace").split()), -1)
    return Outcome(frozenset(ended.stdout.decode(errors="replace").split()), ended.returncode)


# ---- the table ----

def cell(outcomes: list[Outcome]) -> str:
    """The commonest verdict, with its share where runs differ."""
    (verdict, times), *_ = Counter(outcome.verdict for outcome in outcomes).most_common()
    return verdict if times == len(outcomes) else f"{verdict} ({times} of {len(outcomes)})"


def summary(cells: list[str]) -> str:
    at_once, later = (sum(each.startswith(word) for each in cells) for word in ("at once", "later"))
    return f"{at_once} at once, {later} later"


def markdown(rows: dict[str, list[str]], heads: list[str]) -> str:
    lines = ["| error | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    lines += [f"| {bug.replace('_', ' ')} | " + " | ".join(cells) + " |" for bug, cells in rows.items()]
    sums = [summary([cells[n] for cells in rows.values()]) for n in range(len(heads))]
    return "\n".join([*lines, f"| **of {len(rows)}** | " + " | ".join(sums) + " |"])


def show_bugs(library: Path, peers: list[str], names: str | None, runs: int) -> int:
    wanted = columns(library, peers, names)
    with scratch_folder() as folder:
        program = compiled(Path(folder))
        for column in wanted:
            refuse_another_server(program, column)
        bugs = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
        rows = {}
        for number, bug in enumerate(bugs):
            show_progress(f"{number} of {len(bugs)} errors")
            rows[bug] = [cell([run_once(program, bug, column) for _ in range(runs)]) for column in wanted]
    show_progress("")
    print(markdown(rows, [column.name for column in wanted]))
    print("\n" + "; ".join(str(column.allocator) for column in wanted if not column.settings))
    return 0
