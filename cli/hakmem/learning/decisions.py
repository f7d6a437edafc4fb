# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem decisions`: what a process learnt, decision by decision: about keep times, and for the whole process.

    PATH.<pid>: | "HAKDEC01" | rows u32 | row bytes u32 | count u64 | rows | /proc/self/maps as it was at start, zeros |
                | "HAKCHG01" | rows u32 | row bytes u32 | count u64 | rows |

The n-th decision is in row (n - 1) % rows. A live process writes row count + 1 before it counts it, so that of what was
read between two looks at the count these are whole:

    count after + 1 - rows  <  number  <=  count before
"""

from __future__ import annotations

import os
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hakmem.base.errors import Refusal, refuse_unless_regular
from hakmem.base.exit import printable
from hakmem.learning.learners import ARMS, BREAK_EVEN, FETCH
from hakmem.learning.policy import BINS, size_text
from hakmem.reading.living import root_of
from hakmem.reading.mapped import mapped_file, number_of
from hakmem.reading.names import Mapping, Name, demangled, mappings_of, name_of

if TYPE_CHECKING:
    from rich.table import Table

START = "hakmem exec --set mode=evolving --set lab_learn_keep=on --set decisions_file=FILE -- PROGRAM"
MAGIC = b"HAKDEC01"
HEADER = struct.Struct("<8sIIQ")
ROW = struct.Struct("<QQQQIIIIBBB5x")
ROWS_MOST = 1 << 16
FOR_EVER = (1 << 64) - 1
BYTES_MOST = HEADER.size + ROWS_MOST * ROW.size + (1 << 20)
COUNT_AT = 16
MAPS_BYTES = 64 << 10
CHANGES_MAGIC = b"HAKCHG01"
CHANGE = struct.Struct("<QQQIIBBBB4x")
FACTORS = (0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4)  # the arms
NS_PER_MS, NS_PER_S = 1e6, 1e9


@dataclass(frozen=True)
class Decision:
    number: int
    when: int  # ns of CLOCK_MONOTONIC
    label: int  # where the block is asked for; 0: no site of its own
    keep: int  # ns
    depth: int
    waits: int
    paid: int
    before: int
    bin: int
    to: int
    origin: int

    @property
    def break_even(self) -> float | None:
        """In ns; a keep time of 0 or for ever does not say."""
        return self.keep / FACTORS[self.to] if self.to and self.keep != FOR_EVER else None


@dataclass(frozen=True)
class Change:
    """Of an arm that holds in the whole process (src/learn/controller.h)."""

    number: int
    when: int  # ns of CLOCK_MONOTONIC
    window: int
    cost: int  # ns a slow path, by the arm
    before: int  # and by the incumbents
    what: int
    kind: int
    origin: int
    to: int


@dataclass(frozen=True)
class Ring:
    count: int
    decisions: list[Decision]
    mappings: list[Mapping]
    changes: list[Change]


# ---- reading ----

def ring_of(data: bytes, count_after: int, name: str) -> Ring:
    if not data:
        raise Refusal(f"{name}: empty; no decisions file")
    if not data.startswith(MAGIC[: len(data)]):
        raise Refusal(f"{name}: not a decisions file")
    if len(data) < HEADER.size:
        raise Refusal(f"{name}: the decisions file is cut short")
    _, rows, row_bytes, count = HEADER.unpack_from(data)
    if not 0 < rows <= ROWS_MOST or row_bytes != ROW.size:
        raise Refusal(f"{name}: a decisions file of another version ({rows} rows of {row_bytes} bytes)")
    end = HEADER.size + rows * row_bytes
    if len(data) < end:
        raise Refusal(f"{name}: the decisions file is cut short")
    numbers = range(max(1, count_after + 2 - rows), count + 1)
    found = (Decision(*ROW.unpack_from(data, HEADER.size + (n - 1) % rows * row_bytes)) for n in numbers[-rows:])
    whole = [each for n, each in zip(numbers[-rows:], found) if each.number == n and is_sound(each)]
    if numbers and not whole:
        raise Refusal(f"{name}: the decisions file is damaged")
    maps = data[end : end + MAPS_BYTES].partition(b"\0")[0].decode("utf-8", "replace")
    return Ring(count_after, whole, mappings_of(maps), changes_of(data[end + MAPS_BYTES :]))


def changes_of(data: bytes) -> list[Change]:
    """None where another version has no such ring. The oldest row of a full ring may be in writing."""
    if not data.startswith(CHANGES_MAGIC) or len(data) < HEADER.size:
        return []
    _, rows, row_bytes, count = HEADER.unpack_from(data)
    if not 0 < rows <= ROWS_MOST or row_bytes != CHANGE.size or len(data) < HEADER.size + rows * row_bytes:
        return []
    numbers = range(max(1, count + 2 - rows), count + 1)[-rows:]
    found = [Change(*CHANGE.unpack_from(data, HEADER.size + (n - 1) % rows * row_bytes)) for n in numbers]
    return [each for n, each in zip(numbers, found) if each.number == n and is_known(each)]


def is_known(change: Change) -> bool:
    arms = ARMS_OF[change.what] if change.what < len(ARMS_OF) else ()
    return change.kind < len(KINDS) and max(change.origin, change.to) < len(arms)


def is_sound(decision: Decision) -> bool:
    return decision.to < len(ARMS) and decision.origin < len(ARMS) and decision.bin < BINS


def read_file(file: Path, name: str) -> tuple[bytes, int]:
    """Its bytes, and how many decisions there were when they had been read."""
    if file.exists() and not file.is_file():
        raise Refusal(f"{name}: not a regular file")
    try:
        with file.open("rb", buffering=0) as source:
            data = os.pread(source.fileno(), BYTES_MOST, 0)
            after = os.pread(source.fileno(), 8, COUNT_AT)
    except OSError as failure:
        raise Refusal(f"{name}: {(failure.strerror or str(failure)).lower()}") from None
    return data, int.from_bytes(after, "little")


def read_ring(file: Path, name: str) -> Ring:
    """`name`: for whoever reads what is wrong with it."""
    return ring_of(*read_file(file, name), name)


def file_of_process(pid: int) -> tuple[Path, str, str]:
    """The file, its name there, and what the process has mapped."""
    return mapped_file(pid, MAGIC, f"process {pid} writes no decisions down: start it with {START}")


def find_ring(asked: str) -> Ring:
    pid = number_of(asked)
    if pid is None:
        return read_ring(Path(asked), asked)
    file, path, maps = file_of_process(pid)
    ring = read_ring(file, path)
    return Ring(ring.count, ring.decisions, mappings_of(maps, root_of(pid)), ring.changes)


# ---- decided anew ----

def output_of(tool: Path, *arguments: str | Path) -> bytes:
    ended = subprocess.run([tool, *arguments], capture_output=True, check=False)
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().removeprefix(f"{tool.name}: ")
        raise Refusal(said or f"{tool.name} ended with status {ended.returncode}")
    return ended.stdout


def decided_anew(tool: Path, log: Path) -> bytes:
    """The ring of who was told the same."""
    refuse_unless_regular(log)
    return output_of(tool, log)


def compare(anew: bytes, asked: str) -> int:
    """The exit status."""
    pid = number_of(asked)
    file, name = file_of_process(pid)[:2] if pid is not None else (Path(asked), asked)
    data, count = read_file(file, name)
    ring_of(data, count, name)
    if data[: len(anew)] == anew:
        print(f"{printable(name)}: decided anew the same, byte for byte: {counted_decisions(count)}")
        return 0
    at = next((n for n, (one, other) in enumerate(zip(anew, data)) if one != other), len(data))
    print(f"{printable(name)}: decided anew it differs from byte {at:,} on")
    return 1


# ---- what is written ----

def place_text(decision: Decision, mappings: list[Mapping], readable: dict[str, str]) -> str:
    if not decision.label:
        return "no site of its own"
    name = name_of(decision.label, mappings)
    said = printable(str(Name(name.module, readable.get(name.symbol, name.symbol), name.offset)))
    return f"{said}, {decision.depth:,} deep" if decision.depth else said


def break_even_near(decisions: list[Decision], at: int) -> float | None:
    """Its own, or that of the nearest which says it."""
    order = sorted(range(len(decisions)), key=lambda n: abs(n - at))
    return next((known for n in order if (known := decisions[n].break_even) is not None), None)


def keep_text(arm: int, break_even: float | None) -> str:
    from hakmem.base.figures import time_text

    if arm == 0:
        return "0"
    text = f"{ARMS[arm]} ×" if break_even is None else time_text(break_even * FACTORS[arm])
    return f"{text}*" if arm == BREAK_EVEN else text


def table_of(ring: Ring, shown: list[Decision]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("no.", "ms"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("site", overflow="fold")
    for heading in ("size", "keep time", "waits", "fetches paid"):
        table.add_column(heading, justify="right", no_wrap=True)
    readable = demangled(name_of(each.label, ring.mappings).symbol for each in shown)
    skipped = len(ring.decisions) - len(shown)
    for n, each in enumerate(shown, skipped):
        known = break_even_near(ring.decisions, n)
        table.add_row(
            f"{each.number:,}", f"{(each.when - ring.decisions[0].when) / NS_PER_MS:,.1f}",
            Text(place_text(each, ring.mappings, readable)), size_text(each.bin),
            f"{keep_text(each.origin, known)} → {keep_text(each.to, known)}", f"{each.waits:,}",
            f"{each.before / FETCH:.2f} → {each.paid / FETCH:.2f}",
        )
    return table


WHATS = ("big_threshold", "slack", "placement", "all")
THRESHOLDS = ("512 KiB", "768 KiB", "1 MiB", "1.5 MiB", "2 MiB", "3 MiB", "4 MiB", "6 MiB", "8 MiB", "12 MiB", "16 MiB",
              "32 MiB")
ARMS_OF = (
    ("as set", *THRESHOLDS), ("as the price says", "0 %", "5 %", "14 %", "28 %", "42 %"), ("apart", "together"), ("",),
)
KINDS = ("dropped, too dear", "is a candidate", "promoted", "rolled back", "frozen", "another load: learnt anew")


def changes_table(changes: list[Change]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("no.", "ms", "window"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("decision", "arm", "what"):
        table.add_column(heading)
    for heading in ("ns a slow path", "incumbent's"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in changes:
        arms = ARMS_OF[each.what]
        arm = arms[each.to] if each.to == each.origin else f"{arms[each.origin]} → {arms[each.to]}"
        table.add_row(
            f"{each.number:,}", f"{(each.when - changes[0].when) / NS_PER_MS:,.1f}", f"{each.window:,}",
            WHATS[each.what], arm, KINDS[each.kind], f"{each.cost:,}", f"{each.before:,}",
        )
    return table


MEANINGS = (
    "* break-even. Waits: that the row remembers. Fetches paid: in these by the keep time before and the new one, with\n"
    "what is inherited from the size and the process."
)


def counted_decisions(count: int) -> str:
    from hakmem.base.figures import counted

    return counted(count, "decision", "decisions")


def print_ring(ring: Ring, shown: list[Decision]) -> None:
    from hakmem.base.console import stdout_console

    console = stdout_console()
    if shown:
        console.print(table_of(ring, shown))
        console.print(MEANINGS, style="dim", highlight=False)
    console.print(f"{counted_decisions(ring.count)} in all, {len(shown):,} shown", highlight=False)
    if ring.changes:
        console.print(changes_table(ring.changes))


CSV = ("number", "when_ns", "site", "depth", "bin", "from", "to", "keep_ns", "waits", "paid_from", "paid_to")


def print_csv(ring: Ring, shown: list[Decision]) -> None:
    import csv
    import sys

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(CSV)
    for each in shown:
        site = printable(str(name_of(each.label, ring.mappings))) if each.label else ""
        keep = "" if each.keep == FOR_EVER else each.keep
        out.writerow((
            each.number, each.when, site, each.depth, each.bin, ARMS[each.origin], ARMS[each.to], keep, each.waits,
            f"{each.before / FETCH:.4f}", f"{each.paid / FETCH:.4f}",
        ))


def show_decisions(asked: str | bytes | None, as_csv: bool, last: int) -> None:
    """`asked`: a process, a file, or the ring itself, of which the sites have no names."""
    if isinstance(asked, bytes):
        ring = ring_of(asked, HEADER.unpack_from(asked)[3], "the ring")
    else:
        ring = find_ring(asked or "")
    shown = ring.decisions[-last:] if last else ring.decisions
    (print_csv if as_csv else print_ring)(ring, shown)
