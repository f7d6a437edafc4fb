# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recorded calls of real programs: the library's instructions per call, compared with the checked-in table within 1 %.

The programs themselves change with their packages, their recorded calls do not: the excerpts of tests/trace/corpus,
made again by tools/replay.c. Traces with several threads are left out, as their order changes from run to run. What
follows the clock is switched off, as for the patterns.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import callgrind
import patterns

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cli"))
from hakmem.reading.unpack import unpack  # noqa: E402

CORPUS = ROOT / "tests" / "trace" / "corpus"
FEW_FUNCTIONS = 8
TITLE = """\
# Instructions of the library per recorded call of a real program, counted by valgrind's callgrind
# (tests/instructions/traces.py). gcc 12, release; counting off, huge pages off, no free memory goes back. large: blocks
# of 64 KiB and more only. The start of the process is part of it. A build may differ by 1 % in either direction.
# cmake --build build/release --target golden rewrites this.
"""


@dataclass
class Count:
    """What ran in one trace."""

    calls: int
    functions: Counter[str] = field(default_factory=Counter)

    @property
    def cost(self) -> float:
        """Instructions per call."""
        return sum(self.functions.values()) / self.calls


@dataclass
class Traces:
    """All there is to say of one build."""

    counts: dict[str, Count]
    golden: ClassVar[Path] = Path(__file__).with_name("golden_traces.txt")
    what: ClassVar[str] = "traces"

    def __len__(self) -> int:
        return len(self.counts)

    def broken(self) -> list[str]:
        """Why the table would be one of something else."""
        return [f"{name}: the library made no block" for name, count in self.counts.items()
                if not {"malloc", "calloc", "realloc"} & count.functions.keys()]

    def faults(self) -> list[str]:
        """Breaches of what holds for every build."""
        return self.broken()

    def table(self) -> str:
        """As checked in."""
        rows = [f"{name:<24}{count.calls:>9}{count.cost:>11.3f}" for name, count in self.counts.items()]
        return TITLE + "\n".join([f"{'trace':<24}{'calls':>9}{'per call':>11}", *rows]) + "\n"

    def differences(self, golden: str) -> list[str]:
        """The rows that differ by more than the tolerance, or are new or gone."""
        old, new = parse_table(golden), {name: count.cost for name, count in self.counts.items()}
        lost = [f"{name}: in the checked-in table only" for name in old.keys() - new.keys()]
        found = [f"{name}: not in the checked-in table" for name in new.keys() - old.keys()]
        both = [line for name in old if name in new for line in patterns.beyond_tolerance(name, old[name], new[name])]
        return lost + found + both

    def details(self) -> list[str]:
        """Where each trace's instructions are spent."""
        return [f"{name}: " + ", ".join(f"{function} {n / count.calls:.1f}"
                                        for function, n in count.functions.most_common(FEW_FUNCTIONS))
                for name, count in self.counts.items()]


def parse_table(text: str) -> dict[str, float]:
    """The rows of a table."""
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    try:
        return {name: float(cost) for name, _, cost in rows[1:]}
    except ValueError as error:
        raise callgrind.ToolError(f"the checked-in table does not read: {error}") from error


def replayed(replay: Path, library: Path, records: Path) -> tuple[Count, int]:
    """What ran, and with how many threads."""
    with tempfile.TemporaryDirectory(prefix="hakmem-count-") as folder:
        out = Path(folder) / "dump"
        command = ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--dump-line=no", "--compress-strings=no",
                   "--compress-pos=no", f"--callgrind-out-file={out}", str(replay), "--rounds", "1"]
        said = callgrind.run_tool(command, callgrind.counting_environment(library, patterns.SETTINGS), records)
        figures = dict(re.findall(r"(\w+)=(\d+)", said))
        dump = callgrind.Dump(records.stem)
        callgrind.add_costs(dump, iter(out.read_text().splitlines()), library)
        return Count(int(figures["calls"]), dump.functions), int(figures["threads"])


def counted(replay: Path, library: Path) -> Iterator[tuple[str, Count]]:
    with tempfile.TemporaryDirectory(prefix="hakmem-records-") as folder:
        for trace in sorted(CORPUS.glob("*.hakt")):
            records = Path(folder) / "records"
            unpack(trace, records)
            count, threads = replayed(replay, library, records)
            if threads == 1:
                yield trace.name.removesuffix(".hakt"), count


def measured(replay: Path, library: Path) -> Traces:
    """Replays all traces of one thread, one after the other."""
    return Traces(dict(counted(replay, library)))
