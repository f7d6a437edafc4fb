"""How the figures of `hakmem memory` are judged and shown: on the terminal, as Markdown, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from hakmem.micro_table import COLOUR, VERDICT, machine_line, refuse_unless_writable, write_text
from hakmem.peers import GLIBC, HAKMEM

if TYPE_CHECKING:
    from hakmem.memory import Peaks

AGAINST_GLIBC = 1.03
AGAINST_PEERS = 1.0
HEADINGS = ("peak RSS", "MiB", "/ glibc", "/ leanest preloaded peer", "wall s")

__all__ = ["finish", "refuse_unless_writable"]


def finish(console: Console, peaks: Peaks, output: Path | None) -> None:
    show(console, peaks)
    if output:
        write_text(output, as_csv(peaks) if output.suffix == ".csv" else as_markdown(peaks))


# ---- judging ----

def leanest_peer(peaks: Peaks, case: str) -> tuple[str, float] | None:
    """Among those that are preloaded as HAKMEM is."""
    names = [a.name for a in peaks.allocators if a.name not in (HAKMEM, GLIBC)]
    sizes = [(size, name) for name in names if (size := peaks.mebibytes(case, name)) is not None]
    return (min(sizes)[1], min(sizes)[0]) if sizes else None


def verdicts(peaks: Peaks) -> Iterator[tuple[str, bool]]:
    """HAKMEM against glibc and against the leanest preloaded peer, case by case."""
    for case in peaks.cases:
        ours, libc = peaks.mebibytes(case.name, HAKMEM), peaks.mebibytes(case.name, GLIBC)
        peer = leanest_peer(peaks, case.name)
        ours_to = f"{case.name}: HAKMEM /"
        if ours and libc:
            yield verdict(f"{ours_to} glibc", ours / libc, AGAINST_GLIBC)
        if ours and peer:
            yield verdict(f"{ours_to} the leanest preloaded peer, {peer[0]}", ours / peer[1], AGAINST_PEERS)


def verdict(text: str, ratio: float, target: float) -> tuple[str, bool]:
    """As exact as the figures are: the same program differs by a few pages from run to run."""
    return f"{text}: {ratio:.3f}, target {target:.2f}", round(ratio, 3) <= target


def share(size: float, of: float | None) -> str:
    return f"{size / of:.3f}" if of else ""


def rows(peaks: Peaks) -> Iterator[list[str]]:
    for case in peaks.cases:
        libc, peer = peaks.mebibytes(case.name, GLIBC), leanest_peer(peaks, case.name)
        for allocator in peaks.allocators:
            size, wall = peaks.mebibytes(case.name, allocator.name), peaks.fastest(case.name, allocator.name)
            if size is not None and wall is not None:
                beside = [share(size, libc), share(size, peer[1] if peer else None)]
                yield [f"{case.name}, {allocator.name}", f"{size:.1f}", *beside, f"{wall:.2f}"]


def notes(peaks: Peaks) -> list[str]:
    counts = [len(runs) for runs in peaks.runs.values()]
    return [
        f"largest process of the program; median of {min(counts, default=0)} runs; wall time: the shortest",
        f"measured: {', '.join(str(a) for a in peaks.allocators)}",
        f"on: {machine_line()}",
    ]


# ---- showing ----

def show(console: Console, peaks: Peaks) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column(HEADINGS[0])
    for heading in HEADINGS[1:]:
        table.add_column(heading, justify="right")
    for row in rows(peaks):
        table.add_row(*row, style="bold" if row[0].endswith(f", {HAKMEM}") else "")
    console.print(table)
    for text, met in verdicts(peaks):
        console.print(f"{text}: [{COLOUR[met]}]{VERDICT[met]}[/]", highlight=False)
    for note in notes(peaks):
        console.print(note, style="dim", highlight=False, markup=False)


def as_markdown(peaks: Peaks) -> str:
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---|" + "---:|" * (len(HEADINGS) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows(peaks)]
    below = [f"{text}: {VERDICT[met]}" for text, met in verdicts(peaks)] + notes(peaks)
    return "\n".join(lines) + "\n\n" + "\n".join(f"- {text}" for text in below) + "\n"


def as_csv(peaks: Peaks) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["case", "allocator", "version", "run", "peak_kib", "wall_ns", "minor_faults"])
    version = {a.name: a.version for a in peaks.allocators}
    for (case, name), runs in peaks.runs.items():
        for number, run in enumerate(runs):
            writer.writerow([case, name, version[name], number, run.maxrss_kib, run.wall_ns, run.minflt])
    return out.getvalue()
