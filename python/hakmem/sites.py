"""`hakmem sites`: who asked for memory, and what became of it.

    program -> trace (hakmem trace) -> hak_sites -> a row for each call site, with its name
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hakmem.errors import Refusal
from hakmem.names import Mapping, Name, demangled, mappings_of, name_of
from hakmem.simulate import Crew, check, lines_of

COUNTS = ("count", "bytes", "live", "live_bytes", "peak_bytes", "freed", "life_ns", "gaps", "gap_ns")
LONGEST_NAME = 60
PAGE_WIDTH = 132
CANNOT_WRITE = 1


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

    def add(self, line: dict[str, Any]) -> None:
        self.depths.add(line["depth"])
        self.least, self.most = min(self.least, line["least"]), max(self.most, line["most"])
        for count in COUNTS:
            setattr(self, count, getattr(self, count) + line[count])


# ---- what hak_sites says ----

def program_name(line: dict[str, Any]) -> str:
    command = line["command"]
    return Path(command[0].encode("latin-1").decode(errors="replace")).name if command else f"pid {line['pid']}"


def sites_of(lines: Iterable[dict[str, Any]], by_depth: bool) -> list[Site]:
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
            found.setdefault(key, Site(program, name)).add(line)
    return sorted(found.values(), key=lambda site: (-site.peak_bytes, -site.bytes, str(site.name)))


def read_sites(tool: Path, file: Path, wishes: Wishes) -> tuple[list[Site], bool]:
    """The sites, and whether the trace's end was torn."""
    check(file)
    text, torn = lines_of(Crew(), [tool, "--least", str(wishes.least)], file, lambda read: None)
    lines = [json.loads(line) for line in text.splitlines()]
    return sites_of(lines, wishes.by_depth), torn or lines[-1]["torn"]


# ---- for people ----

def bytes_text(number: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1024
    raise AssertionError


def time_text(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def mean_text(total_ns: int, number: int) -> str:
    return time_text(total_ns / number) if number else "–"


def sizes_text(site: Site) -> str:
    if site.least == site.most:
        return bytes_text(site.most)
    return f"{bytes_text(site.least)} – {bytes_text(site.most)}"


def cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def shown_name(site: Site, readable: dict[str, str], by_depth: bool) -> str:
    name = site.name
    text = str(Name(name.module, cut(readable.get(name.symbol, name.symbol)), name.offset))
    return f"{text}, {next(iter(site.depths)):,} deep" if by_depth else text


def row_of(site: Site, name: str) -> list[str]:
    left = bytes_text(site.live_bytes) if site.live else "–"
    lives = mean_text(site.life_ns, site.freed)
    again = f"{site.gaps:,}" if site.gaps else "–"
    return [
        f"  {name}", f"{site.count:,}", sizes_text(site), bytes_text(site.peak_bytes), left, lives, again,
        mean_text(site.gap_ns, site.gaps),
    ]


def console_for_tables() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=PAGE_WIDTH)


def table_of(shown: list[Site], wishes: Wishes) -> Table:
    """By program, the one with the largest site first."""
    title = f"Who asked for blocks of {bytes_text(wishes.least)} and more"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    table.add_column("call site", overflow="fold", min_width=30)
    for heading in ("blocks", "sizes", "most\nlive", "left in\nthe end", "live\nfor", "taken\nagain", "after"):
        table.add_column(heading, justify="right", no_wrap=True)
    readable = demangled(site.name.symbol for site in shown)
    for program in dict.fromkeys(site.program for site in shown):
        table.add_row(Text(program, style="bold"))
        for site in (site for site in shown if site.program == program):
            table.add_row(*row_of(site, shown_name(site, readable, wishes.by_depth)))
    return table


def print_table(sites: list[Site], wishes: Wishes) -> None:
    shown = sites[: wishes.rows] if wishes.rows else sites
    console = console_for_tables()
    console.print(table_of(shown, wishes))
    print_rest(console, sites, len(shown))


def print_rest(console: Console, sites: list[Site], shown: int) -> None:
    labels = sum(len(site.depths) for site in sites)
    hidden = f"; {len(sites) - shown:,} not shown" if len(sites) > shown else ""
    console.print(f"{len(sites):,} call site{'s' if len(sites) > 1 else ''}, {labels:,} with the depth of the stack{hidden}")
    console.print(
        "Live for: on average, those that were freed. Taken again: what the site freed, by anyone who asked for a block "
        "of about that size, last in, first out.", style="dim",
    )


def write_csv(file: Path, sites: list[Site]) -> None:
    import pandas

    rows = [
        {"program": s.program, "site": str(s.name), "module": s.name.module, "depths": len(s.depths), "least": s.least, "most": s.most}
        | {count: getattr(s, count) for count in COUNTS}
        for s in sites
    ]
    try:
        pandas.DataFrame(rows).to_csv(file, index=False)
    except OSError as failure:
        raise Refusal(f"{file}: {(failure.strerror or str(failure)).lower()}", CANNOT_WRITE) from None


def show_sites(tool: Path, file: Path, wishes: Wishes) -> None:
    sites, torn = read_sites(tool, file, wishes)
    if wishes.csv:
        write_csv(wishes.csv, sites)
    if sites:
        print_table(sites, wishes)
    else:
        Console().print(f"no block of {bytes_text(wishes.least)} or more was asked for")
    if torn:
        Console(stderr=True).print(f"note: {file}: the end is torn; what lies before it is counted")


@contextmanager
def scratch_trace() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="hakmem-sites-"))
    try:
        yield folder / "calls.hakt"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
