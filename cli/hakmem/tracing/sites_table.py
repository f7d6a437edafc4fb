# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `hakmem sites` prints: a table that fits. Where the terminal is narrow columns give way, those first that say least
by themselves, until call sites have room; which ones is said below."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hakmem.base.atomic_write import write_rows
from hakmem.base.console import stderr_console, stdout_console
from hakmem.base.exit import printable
from hakmem.base.figures import bytes_text, time_text
from hakmem.reading.names import Name, demangled
from hakmem.reading.unpack import check_apart
from hakmem.tracing.sites import BY_MODEL, COUNTS, MOST, REST, Found, Site, Wishes, read_sites

LONGEST_NAME = 60
NAME_ROOM = 28  # a longer one is folded
PROGRAM_INDENT, FOLD_INDENT = 2, 4
BETWEEN, EDGE = 2, 3  # columns of the terminal
GIVES_WAY = (("taken again", "after"), ("sizes",), ("left in the end",), ("live for",), ("blocks",), ("most live",))
NONE = "–"


# ---- figures ----

def mean_text(total_ns: int, number: int) -> str:
    return time_text(total_ns / number) if number else NONE


def sizes_text(site: Site) -> str:
    """The unit once where it is the same."""
    least, most = bytes_text(site.least), bytes_text(site.most)
    if least == most:
        return most
    return f"{least.split()[0] if least.split()[1] == most.split()[1] else least} – {most}"


def share_text(part: int, whole: int) -> str:
    """0 and 100 % are none and all."""
    percent = round(100 * part / whole)
    if percent == 100 and part < whole:
        return "> 99 %"
    return "< 1 %" if percent == 0 and part else f"{percent} %"


def count_text(number: int) -> str:
    return f"{number:,}"


# ---- columns ----

@dataclass(frozen=True)
class Column:
    name: str
    heading: str
    text: Callable[[Site], str]

    def width(self, sites: Iterable[Site]) -> int:
        texts = [*self.heading.split("\n"), *map(self.text, sites)]
        return max(map(len, texts))


COLUMNS = (
    Column("blocks", "blocks", lambda site: count_text(site.count)),
    Column("sizes", "sizes", sizes_text),
    Column("most live", "most\nlive", lambda site: bytes_text(site.peak_bytes) if site.peak_bytes else ""),
    Column("left in the end", "left in\nthe end", lambda site: bytes_text(site.live_bytes) if site.live else NONE),
    Column("live for", "live\nfor", lambda site: mean_text(site.life_ns, site.freed)),
    Column("taken again", "taken\nagain", lambda site: count_text(site.gaps) if site.gaps else NONE),
    Column("after", "after", lambda site: mean_text(site.gap_ns, site.gaps)),
)
MODEL_COLUMNS = (
    Column("hits", "hits", lambda site: share_text(site.hits, site.count)),
    Column("faults", "faults", lambda site: count_text(site.faults)),
)


def fitting(columns: list[Column], sites: list[Site], name: int, room: int) -> list[Column]:
    """Those that leave room for names of so many letters."""
    gone: set[str] = set()
    for names in ((), *GIVES_WAY):
        gone.update(names)
        left = [column for column in columns if column.name not in gone]
        if name_room(left, sites, room) >= name:
            break
    return left


def name_room(columns: list[Column], sites: list[Site], room: int) -> int:
    return room - EDGE - sum(BETWEEN + column.width(sites) for column in columns)


# ---- rows ----

def cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def parts_of(site: Site, readable: dict[str, str], by_depth: bool) -> list[str]:
    """Of its name; between them it may be folded."""
    name = site.name
    module, symbol, offset = Path(name.module).name, cut(readable.get(name.symbol, name.symbol)), f"{name.offset:#x}"
    parts = [symbol or module, f"+{offset}"] if module else [offset]
    parts += [*([f" ({module})"] if symbol else []), *([f", {next(iter(site.depths)):,} deep"] if by_depth else [])]
    return [printable(part) for part in parts]


def folded(parts: list[str], room: int) -> str:
    lines, width = [" " * PROGRAM_INDENT], max(room, FOLD_INDENT + 1)
    for part in parts:
        if len(lines[-1]) + len(part) > width and lines[-1].strip():
            lines.append(" " * FOLD_INDENT)
            part = part.lstrip(", ")
        lines[-1] += part
        while len(lines[-1]) > width:
            lines[-1:] = [lines[-1][:width], " " * FOLD_INDENT + lines[-1][width:]]
    return "\n".join(lines)


def all_of(sites: list[Site]) -> Site:
    """Their sums. What was live at most of each was not at one time: there is no sum."""
    whole = Site("", Name("", "", 0), least=min(s.least for s in sites), most=max(s.most for s in sites))
    for count in (*COUNTS, *BY_MODEL):
        setattr(whole, count, sum(getattr(site, count) for site in sites))
    whole.peak_bytes = 0
    return whole


def table_of(shown: list[Site], whole: Site | None, columns: list[Column], room: int, wishes: Wishes) -> Table:
    """By program, the one with the largest site first. `room`: for names."""
    title = f"Who asked for blocks of {bytes_text(wishes.least)} and more"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", padding=(0, BETWEEN - 1, 0, 0))
    table.add_column("call site", overflow="fold")
    for column in columns:
        table.add_column(column.heading, justify="right", no_wrap=True)
    readable = demangled(site.name.symbol for site in shown)
    for program in dict.fromkeys(site.program for site in shown):
        table.add_row(Text(printable(program), style="bold"))
        for site in (site for site in shown if site.program == program):
            name = Text(folded(parts_of(site, readable, wishes.by_depth), room))
            table.add_row(name, *(column.text(site) for column in columns))
    if whole:
        table.add_row(Text("all call sites", style="bold"), *(Text(column.text(whole), style="bold") for column in columns))
    return table


def print_table(found: Found, wishes: Wishes) -> None:
    sites = found.sites
    shown = sites[: wishes.rows] if wishes.rows else sites
    whole = all_of(found.all_sites) if len(found.all_sites) > 1 else None
    columns = [*COLUMNS, *(MODEL_COLUMNS if found.modelled else ())]
    console = stdout_console()
    rows = [*shown, *([whole] if whole else [])]
    left = fitting(columns, rows, NAME_ROOM, console.width)
    console.print(table_of(shown, whole, left, name_room(left, rows, console.width), wishes))
    print_rest(console, found, len(shown))
    print_meanings(console, left, [column.name for column in columns if column not in left])


def print_rest(console: Console, found: Found, shown: int) -> None:
    sites = found.sites
    labels = sum(len(site.depths) for site in sites)
    hidden = f"; {len(sites) - shown:,} not shown" if len(sites) > shown else ""
    console.print(f"{len(sites):,} call site{'s' if len(sites) > 1 else ''}, {labels:,} with the depth of the stack{hidden}")
    if found.rest:
        console.print(f"of a process the {MOST:,} are told apart of which most was live; {found.rest_labels:,} more are only in the sums")


MEANINGS = {
    "live for": "Live for: on average, those that were freed.",
    "taken again": "Taken again: what the site freed, by anyone who asked for a block of about that size, last in, first out.",
    "hits": "Hits: blocks that free memory served, so that none of their pages had to be fetched; faults: of the others. Both "
            "by a model of the library, in which each block is written to as it comes.",
}


def print_meanings(console: Console, columns: list[Column], gone: list[str]) -> None:
    meanings = " ".join(MEANINGS[column.name] for column in columns if column.name in MEANINGS)
    narrow = f"Too narrow for: {', '.join(gone)}. They are in --csv, and in a wider terminal." if gone else ""
    for text in filter(None, (meanings, narrow)):
        console.print(text, style="dim", highlight=False)


# ---- the command ----

def write_csv(file: Path, found: Found) -> None:
    """Without the model what it says is empty. A last row is of all others together, where sites are too many."""
    rows = [
        {"program": s.program, "site": REST if s is found.rest else str(s.name), "module": s.name.module, "depths": len(s.depths)}
        | {count: getattr(s, count) for count in ("least", "most", *COUNTS)}
        | {count: getattr(s, count) if found.modelled else None for count in BY_MODEL}
        for s in found.all_sites
    ]
    write_rows(file, [rows[0] if rows else [], *(row.values() for row in rows)])


def show_sites(tool: Path, file: Path, wishes: Wishes) -> None:
    check_apart([file], wishes.csv)
    found = read_sites(tool, file, wishes)
    if wishes.csv:
        write_csv(wishes.csv, found)
    if found.sites:
        print_table(found, wishes)
    else:
        stdout_console().print(f"no block of {bytes_text(wishes.least)} or more was asked for")
    if found.torn:
        stderr_console().print(f"note: {file}: the end is torn; what lies before it is counted")
