# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem sites`: who asked for memory, and what became of it.

    program -> trace (hakmem trace) -> hak_sites -> a row for each call site, with its name
                                   \\-> hak_model -> how many of its blocks free memory served, and the others' faults
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hakmem.base.console import stderr_console
from hakmem.base.errors import Refusal
from hakmem.base.streams import show_progress
from hakmem.process.places import existing
from hakmem.reading.names import Mapping, Name, mappings_of, name_of
from hakmem.reading.unpack import check, name_of_program, refuse_if_nothing_is_left
from hakmem.tracing import model
from hakmem.tracing.model import Place
from hakmem.tracing.tool import Crew, lines_of

COUNTS = ("count", "bytes", "live", "live_bytes", "peak_bytes", "freed", "life_ns", "gaps", "gap_ns")
BY_MODEL = model.SUMS
REST = "all others"
MOST = 10_000  # sites of a process that are told one by one


@dataclass(frozen=True)
class Wishes:
    least: int  # bytes of the smallest block that counts
    rows: int  # 0: all
    by_depth: bool
    csv: Path | None


@dataclass
class Site:
    """Blocks that one place in a program asked for; `depths` of the stack at which it did."""

    program: str
    name: Name
    depths: set[int] = field(default_factory=set)
    least: int = 1 << 63
    most: int = 0
    count: int = 0
    bytes: int = 0
    live: int = 0
    live_bytes: int = 0
    peak_bytes: int = 0  # of several depths and processes: their peaks in all
    freed: int = 0
    life_ns: int = 0
    gaps: int = 0
    gap_ns: int = 0
    hits: int = 0  # blocks that free memory served: none of their pages had to be fetched
    faults: int = 0
    pages: int = 0

    def add(self, line: dict[str, Any]) -> None:
        if "depth" in line:
            self.depths.add(line["depth"])
        self.least, self.most = min(self.least, line["least"]), max(self.most, line["most"])
        for count in (*COUNTS, *BY_MODEL):
            setattr(self, count, getattr(self, count) + line.get(count, 0))


@dataclass(frozen=True)
class Found:
    """`modelled`: its hits and faults are known. `rest`: so many labels more, with less, in one sum."""

    sites: list[Site]
    torn: bool
    modelled: bool
    rest: Site | None = None
    rest_labels: int = 0

    @property
    def all_sites(self) -> list[Site]:
        return [*self.sites, *([self.rest] if self.rest else [])]


# ---- what the tools say ----

def program_name(line: dict[str, Any]) -> str:
    command = line["command"]
    name = name_of_program(command[0].encode("latin-1").decode(errors="replace")) if command else ""
    return name or f"pid {line['pid']}"


def place_of(line: dict[str, Any]) -> Place:
    return line["process"], line["address"], line["depth"]


def sites_of(lines: Iterable[dict[str, Any]], modelled: dict[Place, dict[str, Any]], by_depth: bool) -> list[Site]:
    """Processes that ran the same program are taken together: in each of them it may lie elsewhere."""
    found: dict[tuple[Any, ...], Site] = {}
    mappings: list[Mapping] = []
    program = ""
    for line in lines:
        if line["kind"] == "process":
            program = program_name(line)
            mappings = mappings_of(line["modules"].encode("latin-1").decode(errors="replace"))
        elif line["kind"] == "site":
            name = name_of(line["address"], mappings)
            key = (program, name, line["depth"] if by_depth else None)
            found.setdefault(key, Site(program, name)).add(modelled.get(place_of(line), {}) | line)
    return sorted(found.values(), key=lambda site: (-site.peak_bytes, -site.bytes, str(site.name)))


def rest_of(lines: list[dict[str, Any]], modelled: model.BySite | None) -> tuple[Site | None, int]:
    """And how many labels it has."""
    rests = [line for line in lines if line["kind"] == "rest"]
    if not rests:
        return None, 0
    rest = Site("", Name("", "", 0))
    for line in rests:
        rest.add(line)
    for name in BY_MODEL if modelled else ():
        setattr(rest, name, modelled.others[name])
    return rest, sum(line["sites"] for line in rests)


class Progress:
    """How much of a trace a tool has been given, and then that it is at work."""

    def __init__(self, file: Path, reading: str, working: str) -> None:
        self.reading, self.working, self.size, self.done = reading, working, check(file), 0

    def __call__(self, read: int) -> None:
        self.done += read
        share = f"{self.reading}: {100 * self.done // max(1, self.size)} %"
        show_progress(share if self.done < self.size else self.working)


def by_model(tool: Path, file: Path, least: int, wanted: set[Place]) -> model.BySite | None:
    """None: the model cannot say, and why was told."""
    try:
        progress = Progress(file, "hits and faults: the trace is read", "hits and faults: the model makes the calls")
        return model.by_site(existing(tool.with_name(model.TOOL)), file, least, progress, wanted)
    except Refusal as refusal:
        show_progress("")
        stderr_console().print(f"note: no hits and faults: {refusal}")
        return None


def read_sites(tool: Path, file: Path, wishes: Wishes) -> Found:
    progress = Progress(file, "the trace is read", "who asked for memory")
    text, torn = lines_of(Crew(), [tool, "--least", str(wishes.least), "--most", str(MOST)], file, progress)
    lines = [json.loads(line) for line in text.splitlines()]
    torn = torn or lines[-1]["torn"]
    refuse_if_nothing_is_left(file, torn, sum(line["events"] for line in lines if line["kind"] == "process"))
    wanted = {place_of(line) for line in lines if line["kind"] == "site"}
    modelled = by_model(tool, file, wishes.least, wanted) if wanted else None
    show_progress("")
    sites = sites_of(lines, modelled.sites if modelled else {}, wishes.by_depth)
    return Found(sites, torn, modelled is not None, *rest_of(lines, modelled))
