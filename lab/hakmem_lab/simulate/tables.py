# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `hakmem-lab simulate` prints and writes: tables by program, notes on stderr, and a CSV file by process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from hakmem.base.atomic_write import write_rows, write_whole
from hakmem.base.console import stdout_console
from hakmem.base.exit import say
from hakmem_lab.simulate.results import (
    BASELINE,
    BEST_FIXED,
    BY_BUSY_SITE,
    BY_SITE,
    BY_SIZE,
    CLAIRVOYANT,
    EVOLVING,
    EVOLVING_BY_PROCESS,
    EVOLVING_BY_SIZE,
    FEW,
    MANY,
    Order,
    Process,
    Program,
    Share,
    Trace,
)

OF_PROCESS = (
    "pid", "image", "threads", "events", "ns", "lost", "implied", "unknown", "blocks", "first_fetches", "gaps", "busy",
    "open", "groups",
)
OF_POLICY = (
    "policy", "keep", "cost_ns", "idle_mib_s", "fetch_ns", "fetches", "faults", "kernel_calls", "hits", "ratio", "regret",
)
OF_ROOM = ("idle_mib_s_at_equal_fetching", "fetch_ns_at_equal_memory")
OF_SHARE = ("rows", "gaps", "paid_ns", "best_ns", "clairvoyant_ns")
OF_SHARES = tuple(f"{of}_{name}" for of in (MANY, FEW) for name in OF_SHARE)

SAVERS = (BEST_FIXED, BY_SIZE, BY_BUSY_SITE, BY_SITE, CLAIRVOYANT)


# ---- figures ----

def ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def thousandths(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def figure(value: float) -> str:
    """Three digits, but none beyond the third of a fraction."""
    if 0 < value < 0.001:
        return "< 0.001"
    return f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def bytes_text(count: int) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count:,} bytes"


def name_text(program: Program) -> Text:
    """No markup, whatever is in the name."""
    count = len(program.processes)
    return Text(f"{program.name}, {count:,} processes" if count > 1 else program.name)


def keep_text(keep: str) -> str:
    return keep if keep[-1] in "sr" else f"{keep} ×"  # a time, for ever, or times the break-even


# ---- tables ----

def print_tables(programs: list[Program], order: Order) -> None:
    console = stdout_console()
    console.print(cost_table(programs, order))
    console.print()
    console.print(learning_table(programs))
    console.print()
    console.print(memory_table(programs))
    console.print()
    console.print(fetching_table(programs))


def sheet(title: str, caption: str, columns: list[str]) -> Table:
    table = Table(title=title, caption=caption, box=SIMPLE_HEAD, title_justify="left", caption_justify="left",
                  title_style="bold", caption_style="dim", pad_edge=False, collapse_padding=True)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", overflow="fold")
    return table


def cost_table(programs: list[Program], order: Order) -> Table:
    table = sheet(
        f"What free blocks of {bytes_text(order.least)} and more cost; what a clairvoyant pays is 1",
        "Baseline: kept until the rent is as much as fetching costs, the break-even time; at most 2.00. Best fixed: the\n"
        "one T of a ladder that is best for all. By size, by site: the best T of each; busy sites: of those with a\n"
        "hundred waits and more, the others together. A MiB costs "
        f"{order.price:,.0f} ns a second, fetching {order.call_ns:,g} ns and {order.page_ns:,g} ns a page.",
        ["program", "events", "waits", "baseline", "best\nfixed", "its T", "by\nsize", "busy\nsites", "by\nsite",
         "clairvoyant\npays, ms"],
    )
    for program in programs:
        table.add_row(*cost_row(program))
    return table


def cost_row(program: Program) -> Iterator[str | Text]:
    yield name_text(program)
    yield f"{program.sum_of('events'):,}"
    yield f"{program.sum_of('gaps'):,}"
    yield ratio(program.ratio(BASELINE))
    yield ratio(program.ratio(BEST_FIXED))
    yield keep_text(program.best_keep)
    yield ratio(program.ratio(BY_SIZE))
    yield ratio(program.ratio(BY_BUSY_SITE))
    yield ratio(program.ratio(BY_SITE))
    yield figure(program.outcomes[CLAIRVOYANT].cost_ns / 1e6)


def learning_table(programs: list[Program]) -> Table:
    table = sheet(
        "What who learns meanwhile pays; what a clairvoyant pays is 1",
        "Evolving learns from each wait that has ended, or has lasted for long, by process, by size, and by site.\n"
        "Regret: to the best T of a ladder in hindsight, for each site and bin with a thousand waits and more, the\n"
        "first 200 left out. Others: the waits of the other sites, by bin.",
        ["program", "waits", "base-\nline", "evolv-\ning", "by\nsize", "by pro-\ncess", "waits\nof many", "regret",
         "others"],
    )
    for program in programs:
        table.add_row(*learning_row(program))
    return table


def learning_row(program: Program) -> Iterator[str | Text]:
    many = program.share(EVOLVING, MANY)
    yield name_text(program)
    yield f"{program.sum_of('gaps'):,}"
    for policy in (BASELINE, EVOLVING, EVOLVING_BY_SIZE, EVOLVING_BY_PROCESS):
        yield ratio(program.ratio(policy))
    yield f"{many.gaps:,}"
    yield thousandths(many.regret)
    yield thousandths(program.share(EVOLVING, FEW).regret)


def memory_table(programs: list[Program]) -> Table:
    table = sheet(
        "Memory that better keep times could save of what the baseline keeps",
        "Where as much time goes into fetching. At busy sites: waits of blocks of a call site and bin that has a hundred\n"
        "and more; who learns by site can only go by them.",
        ["program", "waits", "at busy\nsites", "idle,\nMiB × s", "one T", "by\nsize", "busy\nsites", "by\nsite",
         "clair-\nvoyant"],
    )
    for program in programs:
        waits, idle = program.sum_of("gaps"), program.outcomes[BASELINE].idle_mib_s
        savings = (percent(program.idle_saved(policy)) for policy in SAVERS)
        table.add_row(name_text(program), f"{waits:,}", percent(program.busy_share), figure(idle), *savings)
    return table


def fetching_table(programs: list[Program]) -> Table:
    table = sheet(
        "Fetching that better keep times could save of the baseline's", "Where as much memory is kept.",
        ["program", "runs,\ns", "fetch,\nms", "one T", "by\nsize", "busy\nsites", "by\nsite", "clair-\nvoyant"],
    )
    for program in programs:
        fetching = program.outcomes[BASELINE].fetch_ns
        savings = (percent(program.fetching_saved(policy)) for policy in SAVERS)
        table.add_row(name_text(program), figure(program.seconds), figure(fetching / 1e6), *savings)
    return table


# ---- notes ----

def print_notes(traces: list[Trace], order: Order) -> None:
    for trace in traces:
        for note in notes(trace, order):
            say(f"{trace.path}: {note}")


def notes(trace: Trace, order: Order) -> Iterator[str]:
    if trace.torn:
        yield "its end is torn; what comes before is used"
    lost = sum(process.head["lost"] for process in trace.processes)
    if lost:
        yield f"{lost:,} events were lost when it was made"
    if not any(process.head["gaps"] for process in trace.processes):
        yield f"no block of {bytes_text(order.least)} or more was freed"


# ---- CSV ----

def write_csv(traces: list[Trace], path: Path) -> None:
    head = ["trace", "program", *OF_PROCESS, *OF_POLICY, *OF_ROOM, *OF_SHARES]
    rows = (row for trace in traces for process in trace.processes for row in rows_of(trace.path, process))
    write_rows(path, [head, *rows])


def rows_of(path: Path, process: Process) -> Iterator[list[Any]]:
    for line in process.policies:
        room = process.headroom.get(line["policy"])
        head, figures = (process.head[name] for name in OF_PROCESS), (line[name] for name in OF_POLICY)
        rooms = [room.idle_mib_s, room.fetch_ns] if room else [""] * len(OF_ROOM)
        yield [path, process.name, *head, *figures, *rooms, *shares_of(process, line["policy"])]


def shares_of(process: Process, policy: str) -> list[Any]:
    shares = [process.shares.get((policy, of)) for of in (MANY, FEW)]
    return [getattr(share, name) if isinstance(share, Share) else "" for share in shares for name in OF_SHARE]


# ---- Markdown ----

def write_markdown(programs: list[Program], order: Order, path: Path) -> None:
    tables = (cost_table(programs, order), learning_table(programs), memory_table(programs), fetching_table(programs))
    write_whole(path, "\n".join(markdown(table) for table in tables))


def markdown(table: Table) -> str:
    """A table with its title; of a heading the lines become one."""
    heads = [str(column.header).replace("-\n", "").replace("\n", " ") for column in table.columns]
    marks = ["---:" if column.justify == "right" else "---" for column in table.columns]
    rows = zip(*([str(cell).replace("|", "\\|") for cell in column.cells] for column in table.columns))
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return "\n".join([f"**{table.title}**", "", lines[0], f"|{'|'.join(marks)}|", *lines[1:], ""])
