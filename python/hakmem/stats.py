# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem stats`: what a process shows of itself, once: for people, as JSON, or as text for Prometheus."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Optional

from hakmem.stats_page import COUNTER, Page, Row, age_ns, find_page

NS_PER_SECOND = 1e9
PREFIX = "hakmem"


def resident_bytes(pid: int) -> Optional[int]:
    """From outside. None: it has ended."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]
    except (OSError, IndexError):
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


# ---- JSON ----

def facts_of(page: Page) -> dict[str, Any]:
    facts: dict[str, Any] = {"version": page.version, "pid": page.pid}
    if page.pid is not None:
        facts |= {"age_ns": age_ns(page), "resident_bytes": resident_bytes(page.pid)}
    facts["counters"] = {row.name: row.value for row in page.rows if row.kind == COUNTER}
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


def prometheus_text(page: Page) -> str:
    labels = f'{{pid="{page.pid}"}}' if page.pid is not None else ""
    version = f'{{{labels[1:-1] + "," if labels else ""}version="{page.version}"}}'
    families = [family(f"{PREFIX}_info", "gauge", "the library that serves the process", version, "1")]
    resident = resident_bytes(page.pid) if page.pid is not None else None
    if resident is not None:
        help_ = "bytes of the process that are resident, as the kernel has them"
        families.append(family(f"{PREFIX}_resident_bytes", "gauge", help_, labels, str(resident)))
    for row in page.rows:
        kind = "counter" if row.kind == COUNTER else "gauge"
        families.append(family(metric_name(row), kind, help_of(row), labels, value_text(row)))
    return "".join(families)


# ---- for people ----

def print_table(page: Page) -> None:
    from rich import box
    from rich.table import Table

    from hakmem.console import stdout_console

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("what", overflow="fold")
    for row in page.rows:
        if row.value or row.kind != COUNTER:
            table.add_row(row.name, f"{row.value:,}", row.help)
    stdout_console().print(table)


def show_stats(asked: str, as_json: bool, prometheus: bool) -> int:
    page = find_page(asked)
    if as_json:
        print(json.dumps(facts_of(page), indent=2))
    elif prometheus:
        print(prometheus_text(page), end="")
    else:
        print_table(page)
    return 0
