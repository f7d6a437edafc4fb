# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem top --once`: what a process shows of itself, once: for people, as JSON, or as text for Prometheus."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Optional

from hakmem.base.exit import printable
from hakmem.base.help import folded
from hakmem.reading.find_page import find_page
from hakmem.reading.memory import Part, Waterfall, waterfall_from, waterfall_of
from hakmem.reading.resident import mappings_of
from hakmem.reading.stats_page import COUNTER, Page, Row, age_ns

NS_PER_SECOND = 1e9
PREFIX = "hakmem"


def resident_bytes(pid: int) -> Optional[int]:
    """From outside. None: it has ended."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]
    except (OSError, IndexError):
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def memory_of(page: Page) -> Optional[Waterfall]:
    """None: the process has ended, or ends."""
    if page.pid is None or resident_bytes(page.pid) is None:
        return None
    return waterfall_from(page.pid, page, mappings_of(page.pid)) if page.in_memory else waterfall_of(page.pid)


# ---- JSON ----

def memory_facts(memory: Waterfall) -> dict[str, Any]:
    return {
        "parts": {part.name: part.bytes for part in memory.counted}, "untouched_bytes": memory.untouched,
        "hakmem_bytes": memory.mine,
        "outside_bytes": memory.outside, "resident_bytes": memory.rss, "hakmem_smaps_bytes": memory.smaps,
        "huge_bytes": memory.huge, "error": memory.error, "by": memory.by, "age_ns": memory.age_ns,
        "left_out_bytes": memory.left_out,
    }


def facts_of(page: Page) -> dict[str, Any]:
    facts: dict[str, Any] = {"version": page.version, "pid": page.pid}
    if page.pid is not None:
        facts |= {"age_ns": age_ns(page), "resident_bytes": resident_bytes(page.pid)}
    memory = memory_of(page)
    if memory is not None:
        facts["memory"] = memory_facts(memory)
    facts["counters"] = {row.name: row.value for row in page.told() if row.kind == COUNTER}
    facts["state"] = {row.name: row.value for row in page.rows if row.kind != COUNTER}
    return facts


# ---- Prometheus ----

def metric_name(row: Row) -> str:
    """In its base unit, which is its suffix; counters end in _total."""
    bare = row.name.removesuffix(f"_{row.unit}") if row.unit else row.name
    unit = {"": "", "bytes": "_bytes", "ns": "_seconds"}[row.unit]
    return f"{PREFIX}_{bare}{unit}{'_total' if row.kind == COUNTER else ''}"


def value_text(row: Row) -> str:
    return repr(row.value / NS_PER_SECOND) if row.unit == "ns" else str(row.value)


def family(name: str, kind: str, help_: str, labels: str, value: str) -> str:
    escaped = help_.replace("\\", "\\\\").replace("\n", "\\n")
    return f"# HELP {name} {escaped}\n# TYPE {name} {kind}\n{name}{labels} {value}\n"


def help_of(row: Row) -> str:
    """The tables say ns where the metric has seconds."""
    return row.help.replace(" in ns", "", 1) if row.unit == "ns" else row.help


def memory_family(memory: Waterfall) -> str:
    """Their sum less what was never touched is resident, but for `error`."""
    name = f"{PREFIX}_memory_bytes"
    outside = Part("outside", "", memory.outside, "")
    samples = (f'{name}{{pid="{memory.pid}",part="{part.name}"}} {part.bytes}\n' for part in (*memory.counted, outside))
    help_ = f"bytes of the process by what they are; less {PREFIX}_untouched_bytes they are resident"
    parts = f"# HELP {name} {help_}\n# TYPE {name} gauge\n{''.join(samples)}"
    labels, help_ = f'{{pid="{memory.pid}"}}', f"bytes that parts of {name} count and that are not resident"
    return parts + family(f"{PREFIX}_untouched_bytes", "gauge", help_, labels, str(memory.untouched))


def prometheus_text(page: Page) -> str:
    labels = f'{{pid="{page.pid}"}}' if page.pid is not None else ""
    version = f'{{{labels[1:-1] + "," if labels else ""}version="{page.version}"}}'
    families = [family(f"{PREFIX}_info", "gauge", "the library that serves the process", version, "1")]
    resident = resident_bytes(page.pid) if page.pid is not None else None
    if resident is not None:
        help_ = "bytes of the process that are resident, as the kernel has them"
        families.append(family(f"{PREFIX}_resident_bytes", "gauge", help_, labels, str(resident)))
    memory = memory_of(page)
    if memory is not None:
        families.append(memory_family(memory))
    for row in page.told():
        kind = "counter" if row.kind == COUNTER else "gauge"
        families.append(family(metric_name(row), kind, help_of(row), labels, value_text(row)))
    return "".join(families)


# ---- for people ----

def print_memory(memory: Waterfall) -> None:
    from rich import box
    from rich.table import Table

    from hakmem.base.console import NARROW, stdout_console

    console = stdout_console()
    if console.width < NARROW:
        print_list(memory_lines(memory), console.width)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("memory", no_wrap=True)
    table.add_column("bytes", justify="right", no_wrap=True)
    table.add_column("what", overflow="fold")
    for label, bytes_, help_ in memory_lines(memory):
        table.add_row(label, f"{bytes_:,}", help_)
    console.print(table)


def print_list(rows: Iterable[tuple[str, int, str]], columns: int) -> None:
    """A table's rows on a narrow terminal: what each is, below it."""
    for label, value, help_ in rows:
        print(f"{label}: {value:,}")
        print("\n".join(folded(printable(help_), columns, "  ")))


def memory_lines(memory: Waterfall) -> Iterator[tuple[str, int, str]]:
    yield from ((part.label, abs(part.bytes), part.help) for part in memory.parts)
    notes = [f"resident in HAKMEM's mappings, by {memory.by}"]
    if memory.error:
        notes.append(f"{100 * memory.error:.2f} % more than the sum")
    notes.append(f"the sum's counters are {memory.age_ns / NS_PER_SECOND:,.1f} s old")
    yield "HAKMEM", memory.mine, "; ".join(notes)
    yield "in huge pages", memory.huge, f"of these, in pages of 2 MiB, as smaps has them; {memory.huge_text}"
    left_out = f"; {memory.left_out:,} bytes of big blocks are in it, for want of room" if memory.left_out else ""
    yield "outside", memory.outside, f"resident elsewhere: code, stacks, other mappings{left_out}"
    yield "process", memory.rss, "resident in all"


def print_table(page: Page) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from hakmem.base.console import NARROW, stdout_console

    console, rows = stdout_console(), [row for row in page.rows if row.value or row.kind != COUNTER]
    if console.width < NARROW:
        print_list(((row.name, row.value, row.help) for row in rows), console.width)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("what", overflow="fold")
    for row in rows:
        table.add_row(row.name, f"{row.value:,}", Text(row.help))
    console.print(table)


def show(asked: str, as_json: bool, prometheus: bool) -> int:
    page = find_page(asked)
    if as_json:
        print(json.dumps(facts_of(page), indent=2))
    elif prometheus:
        print(prometheus_text(page), end="")
    else:
        memory = memory_of(page)
        if memory is not None:
            print_memory(memory)
        print_table(page)
    return 0
