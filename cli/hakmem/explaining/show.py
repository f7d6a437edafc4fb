# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem explain` as text, on lines that a terminal has room for, and as JSON."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any, Optional

from hakmem.base.exit import printable
from hakmem.base.figures import bytes_text, counted
from hakmem.base.help import folded, width
from hakmem.base.streams import show_progress
from hakmem.explaining.cause import Cause, Change, size_of, stacks_command
from hakmem.explaining.causes import ordered
from hakmem.explaining.growth import Growth, growth_lines
from hakmem.explaining.limits import settings_text
from hakmem.explaining.live import covers, rounding_bound, sampled_bytes
from hakmem.explaining.look import Look, look_at
from hakmem.reading.heap import LIVE
from hakmem.reading.image import same_image

SHARE_LEAST = 0.01  # of RSS, from which on a part has a row of its own
FIGURE = re.compile(r"(?<=\d) (?=[KMG]?i?B\b)")
INDENT = "    "


# ---- what is told ----

def rest_of(look: Look) -> int:
    """RSS that no part has: pages came and went while they were read."""
    return look.rss - sum(look.parts.bytes.values())


def blocks_of(look: Look) -> int:
    spans = sum(span.use == LIVE for span in look.heap.spans)
    return sum(use.live for use in look.parts.classes.values()) + max(0, spans - look.heap.cached_runs())


def moved(look: Look) -> Iterator[str]:
    rest = rest_of(look)
    if abs(rest) >= SHARE_LEAST * look.rss:
        yield f"{bytes_text(abs(rest))} {'came' if rest > 0 else 'went'} while they were read, and are in no row"


def unknown(look: Look) -> Iterator[str]:
    """What cannot be had afterwards, and the command that would bring it."""
    if covers(look):
        return
    bound = f"of blocks in slabs at most {bytes_text(rounding_bound(look))}, without aligned ones"
    if look.samples:
        bound += f", and ≈ {bytes_text(look.rounding.bytes)} of the sampled {bytes_text(sampled_bytes(look))}"
    yield f"what sizes were rounded up by: {bound}; {stacks_command(look)} measures it"


def shared_pages(look: Look) -> Iterator[str]:
    if look.parts.shared and not look.parent:
        shared = f"{bytes_text(look.parts.shared)} of HAKMEM's pages are shared with processes forked from this one"
        yield f"{shared}, and are in the rows above; Pss is {bytes_text(look.pss)}"


def head_lines(look: Look, columns: int) -> Iterator[str]:
    swap = f", {bytes_text(look.swap)} more in swap" if look.swap else ""
    yield from hanging(f"process {look.pid}: {bytes_text(look.rss)} resident (Pss {bytes_text(look.pss)}){swap}", "", columns)
    yield look.command if len(look.command) <= columns else f"{look.command[:columns - 3]}..."
    yield from hanging(f"served by HAKMEM: {counted(blocks_of(look), 'live block', 'live blocks')} in its tables", "", columns)


def foot_lines(look: Look) -> Iterator[str]:
    yield from (f"not known: {text}" for text in unknown(look))
    yield from (f"note: {text}" for text in (*shared_pages(look), *moved(look)))
    yield f"settings: {settings_text(look.settings, look.policy_file)}"
    yield f"limits: {'; '.join(look.limits) or 'none of ulimit -v, ulimit -d, control group'}"


def change_text(change: Change) -> str:
    if not change.bytes:
        return change.text
    return f"{'at most ' * change.at_most}{bytes_text(change.bytes)}: {change.text}"


def row_lines(look: Look, cause: Cause, growth: Optional[Growth], columns: int) -> Iterator[str]:
    size = size_of(look, cause.part)
    head = f"{bytes_text(size):>10}  {size / look.rss:4.0%}  "
    first, *others = figures_whole(cause.title, columns - len(head))
    yield f"{head}{first}"
    yield from (f"{'':{len(head)}}{line}" for line in others)
    reasons = [*cause.reasons(look), *(growth_lines(growth, cause.part) if growth else ())]
    for text in reasons:
        yield from hanging(text, INDENT, columns)
    for change in cause.changes(look):
        yield from hanging(f"-> {change_text(change)}", INDENT, columns)


def figures_whole(text: str, columns: int) -> list[str]:
    """Folded, but not between a figure and its unit."""
    return [line.replace("\0", " ") for line in folded(FIGURE.sub("\0", text), columns)]


def hanging(text: str, indent: str, columns: int) -> list[str]:
    """Further lines stand a little more to the right."""
    depth = len(text) - len(text.lstrip())
    lines = figures_whole(text, columns - len(indent) - depth - 2)
    return [f"{indent}{' ' * depth}{'  ' * (number > 0)}{line}" for number, line in enumerate(lines)]


def small_line(look: Look, small: list[Cause], columns: int) -> list[str]:
    told = "; ".join(f"{each.title} {bytes_text(size_of(look, each.part))}" for each in small)
    return figures_whole(f"less than 1 % each: {told}", columns) if told else []


def lines_of(look: Look, growth: Optional[Growth]) -> Iterator[str]:
    columns, causes = width(), ordered(look)
    large = [each for each in causes if size_of(look, each.part) >= SHARE_LEAST * look.rss]
    yield from head_lines(look, columns)
    for cause in large:
        yield ""
        yield from row_lines(look, cause, growth, columns)
    yield ""
    yield from small_line(look, [each for each in causes if each not in large], columns)
    for text in foot_lines(look):
        yield from hanging(text, "", columns)


# ---- JSON ----

def row_facts(look: Look, cause: Cause, growth: Optional[Growth]) -> dict[str, Any]:
    return {
        "cause": cause.part, "title": cause.title, "bytes": size_of(look, cause.part),
        "reasons": [*cause.reasons(look), *(growth_lines(growth, cause.part) if growth else ())],
        "changes": [change._asdict() for change in cause.changes(look)],
        **({"grew_bytes": growth.of(cause.part)} if growth else {}),
    }


def facts_of(look: Look, growth: Optional[Growth]) -> dict[str, Any]:
    facts = {
        "pid": look.pid, "command": look.command, "threads": look.threads, "parent": look.parent or None,
        "resident_bytes": look.rss, "pss_bytes": look.pss, "swap_bytes": look.swap,
        "hakmem_shared_bytes": look.parts.shared, "live_blocks": blocks_of(look), "samples": len(look.samples),
        "rows": [row_facts(look, cause, growth) for cause in ordered(look)], "rest_bytes": rest_of(look),
        "unknown": list(unknown(look)), "notes": [*shared_pages(look), *moved(look)],
        "settings": look.settings, "policy_file": look.policy_file or None, "limits": look.limits,
    }
    return facts | ({"seconds": growth.seconds} if growth else {})


# ---- the command ----

def look_with_progress(pid: int) -> Look:
    """Of 4 GiB it takes a second."""
    show_progress(f"reads the memory of process {pid}")
    try:
        return look_at(pid)
    finally:
        show_progress("")


def growth_of(before: Look, seconds: float) -> Growth:
    show_progress(f"looks at process {before.pid} again in {seconds:g} s")
    time.sleep(seconds)
    return Growth(before, look_with_progress(before.pid))


def show_explanation(pid: int, seconds: Optional[float], as_json: bool) -> int:
    with same_image(pid, "looked at"):
        look = look_with_progress(pid)
        growth = growth_of(look, seconds) if seconds is not None else None
    look = growth.after if growth else look
    show_progress("names call sites")
    lines = [json.dumps(facts_of(look, growth), indent=2)] if as_json else list(map(printable, lines_of(look, growth)))
    show_progress("")
    print("\n".join(lines))
    return 0
