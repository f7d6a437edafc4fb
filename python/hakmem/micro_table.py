"""How the figures of `hakmem micro` are shown: on the terminal, as Markdown, as CSV."""

from __future__ import annotations

import csv
import io
import os
import platform
import re
import sys
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hakmem.errors import Refusal
from hakmem.micro_judge import Line, Mean, lines_of, means_of
from hakmem.micro_run import Measurement
from hakmem.peers import Allocator, rebuilt_meanwhile, steering_variables

VERDICT = {True: "met", False: "missed", None: ""}
WIDE = 160
COLOUR = {True: "green", False: "red", None: "white"}


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}"


def ratio_text(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3f}"


# ---- what was measured on ----

def machine_line() -> str:
    cores = len(os.sched_getaffinity(0))
    return f"{cpu_model()}, {cores} cores, Linux {platform.release()}, {date.today().isoformat()}"


def cpu_model() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def notes(measured: Measurement, lines: list[Line]) -> list[str]:
    far = [line.row for line in lines if line.far_apart]
    hops = [s.hop_ns for s in measured.samples if s.hop_ns is not None]
    rebuilt = rebuilt_meanwhile(measured.allocators)
    set_ones = " ".join(f"{name}={value}" for name, value in steering_variables(os.environ).items())
    return [text for text in (
        "ns per operation; the shortest repetition of all rounds",
        f"measured: {', '.join(str(a) for a in measured.allocators)}",
        f"on: {machine_line()}",
        f"a cache line takes {min(hops):.0f} ns from core to core" if hops else "",
        f"cores moved apart in some rounds, not comparable: {', '.join(far)}" if far else "",
        f"settings of the environment: {set_ones}" if set_ones else "",
        f"rebuilt during the run, measure again: {', '.join(rebuilt)}" if rebuilt else "",
        *(f"no figure: {f.row} on {f.allocator}: it {f.why}" for f in measured.failures),
    ) if text]


def mean_text(mean: Mean, all_rows: int) -> tuple[str, str]:
    """The line and its verdict; the targets are meant for all rows together."""
    text = f"{mean.text}, geometric mean over {mean.rows} rows: {mean.ratio:.3f}"
    if mean.rows < all_rows:
        return f"{text} (of {all_rows}, not judged)", ""
    return f"{text}, target {mean.target:.2f}", f": {VERDICT[mean.met]}"


# ---- the terminal ----

def stdout_console() -> Console:
    """Off a terminal there is no width to fit: lines are never broken."""
    return Console() if sys.stdout.isatty() else Console(width=WIDE, soft_wrap=True)


def show(console: Console, measured: Measurement, all_rows: int) -> None:
    lines = lines_of(measured)
    console.print(terminal_table(lines, measured.allocators))
    for mean in means_of(lines):
        text, verdict = mean_text(mean, all_rows)
        console.print(f"{text}[{COLOUR[mean.met]}]{verdict}[/]", highlight=False)
    for note in notes(measured, lines):
        console.print(note, style="dim", highlight=False, markup=False)


def terminal_table(lines: list[Line], allocators: list[Allocator]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("ns per operation")
    for allocator in allocators:
        table.add_column(allocator.name, justify="right", style="bold" if allocator.name == "hakmem" else "")
    for heading in ("ratio", "target", ""):
        table.add_column(heading, justify="right")
    for line in lines:
        table.add_row(*terminal_cells(line, allocators))
    return table


def terminal_cells(line: Line, allocators: list[Allocator]) -> list[str]:
    figures = []
    for allocator in allocators:
        text = number(line.ns.get(allocator.name))
        figures.append(f"[underline]{text}[/]" if allocator.name == line.best_peer else text)
    target = "" if line.ratio is None else f"{line.target:.2f}"
    verdict = f"[{COLOUR[line.met]}]{VERDICT[line.met]}[/]"
    return [line.row, *figures, ratio_text(line.ratio), target, verdict]


# ---- files ----

def write_output(path: Path, measured: Measurement, all_rows: int) -> None:
    write_text(path, as_csv(measured) if path.suffix == ".csv" else as_markdown(measured, all_rows))


def write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refusal(f"--output {path}: {(error.strerror or str(error)).lower()}") from None


def refuse_unless_writable(path: Path | None) -> None:
    """Before minutes are spent on measuring."""
    if path is None:
        return
    if path.suffix not in (".md", ".csv"):
        raise Refusal(f"--output {path}: the name must end in .md or .csv")
    if not path.absolute().parent.is_dir():
        raise Refusal(f"--output {path}: no such folder")


def as_markdown(measured: Measurement, all_rows: int) -> str:
    lines = lines_of(measured)
    names = [a.name for a in measured.allocators]
    table = ["| ns per operation | " + " | ".join(names) + " | ratio to the best peer | target |",
             "|---|" + "---:|" * (len(names) + 2)]
    table += [markdown_row(line, names) for line in lines]
    below = ["".join(mean_text(mean, all_rows)) for mean in means_of(lines)]
    return "\n".join(table) + "\n\n" + "\n".join(f"- {text}" for text in below + notes(measured, lines)) + "\n"


def markdown_row(line: Line, names: list[str]) -> str:
    figures = [number(line.ns.get(name)) for name in names]
    marked = [f"**{text}**" if name == line.best_peer else text for name, text in zip(names, figures)]
    judged = "" if line.met is None else f"{line.target:.2f} {VERDICT[line.met]}"
    return f"| {line.row} | " + " | ".join(marked) + f" | {ratio_text(line.ratio)} | {judged} |"


def as_csv(measured: Measurement) -> str:
    """Every sample, so that another program can judge anew."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["row", "allocator", "version", "round", "ns_per_operation", "hop_ns", "near"])
    version = {a.name: a.version for a in measured.allocators}
    for s in measured.samples:
        hop = "" if s.hop_ns is None else s.hop_ns
        near = "yes" if measured.is_near(s) else "no"
        writer.writerow([s.row, s.allocator, version[s.allocator], s.round, s.ns, hop, near])
    return out.getvalue()
