# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem report`: a profile as one HTML page that needs nothing else.

    profile, named -> tree, sites, sizes, ages  \\
    a process: watched for some seconds          > JSON -> page.html, which draws it
               its RSS, part by part            /

What is not known is left out, and the page says how to get it.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from hakmem import __version__
from hakmem.ages import ages_of
from hakmem.console import stdout_console
from hakmem.errors import Refusal, written
from hakmem.flame import flame_of, sites_of, stacks_of
from hakmem.pprof import columns, read, text_of
from hakmem.profile import chosen, file_of, heading, say_stale, totals, written_anew
from hakmem.symbols import Names
from hakmem.timeline import watch

TEMPLATE = Path(__file__).with_name("page.html")
MARK = "/*data*/null"
# In a script element's text these would end it, or begin another; in JSON they stand in strings only.
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
NO_AGES = "Not in this profile: HAKMEM writes it into those that a process writes itself."
NO_PROCESS = "Only of a process that runs: hakmem report PID."
NO_WATERFALL = "Only of a process that keeps statistics: start it with HAKMEM_STATS_FILE=FILE."


@dataclass(frozen=True)
class Order:
    asked: str
    output: Optional[Path]
    seconds: float  # for which a process is watched
    file: Optional[Path] = None  # of a process: where it writes to, if it cannot be found out


# ---- what there is to say ----

def facts_of(profile: Any, file: Path) -> dict[str, Any]:
    program = text_of(profile, profile.mapping[0].filename) if len(profile.mapping) else ""
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(profile.time_nanos / 1e9)) if profile.time_nanos else ""
    comment = next((text_of(profile, number) for number in profile.comment), "")
    at, sums = columns(profile), totals(profile)
    return {
        "file": file.name, "program": program, "when": when, "comment": comment, "period": profile.period,
        "version": __version__, "totals": {name: sums[n] for name, n in at.items()},
    }


def waterfall_parts(pid: int, profile: Any) -> Optional[dict[str, Any]]:
    """None: it cannot be known."""
    try:
        from hakmem.memory import waterfall_of
    except ImportError:
        return None
    try:
        found = waterfall_of(pid, profile)
    except Refusal:
        return None
    parts = [[part.label, part.bytes, part.help] for part in found.parts]
    return {"parts": parts, "mine": found.mine, "outside": found.outside, "rss": found.rss, "error": found.error}


def page_data(profile: Any, names: Names, file: Path) -> dict[str, Any]:
    stacks = stacks_of(profile, names)
    data = {"facts": facts_of(profile, file), "flame": flame_of(stacks), "sites": sites_of(stacks)}
    data |= {"functions": stacks.functions.rows, "ages": ages_of(profile), "stale": names.stale}
    return data | {"timeline": None, "waterfall": None, "missing": {"ages": NO_AGES}}


# ---- the page ----

def page_text(data: dict[str, Any]) -> str:
    """ASCII only, so that no name can harm it, whatever bytes it has."""
    text = json.dumps(data, separators=(",", ":"))
    for character, escape in UNSAFE.items():
        text = text.replace(character, escape)
    head, mark, tail = TEMPLATE.read_text("ascii").partition(MARK)
    assert mark
    return head + text + tail


def write_page(path: Path, text: str) -> None:
    """Whole or not at all. What is no regular file is written to as it is."""
    with written(path):
        if path.exists() and not path.is_file():
            path.write_text(text, "ascii")
            return
        number, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(number, "w", encoding="ascii") as file:
                file.write(text)
            os.chmod(draft, 0o644 & ~mask_of_process())
            os.replace(draft, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise


def mask_of_process() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# ---- the command ----

def process_of(asked: str) -> Optional[int]:
    return int(asked) if asked.isdecimal() and not Path(asked).exists() else None


def name_of(pid: int) -> str:
    """As it calls itself: its file may have many names."""
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def data_of(order: Order) -> tuple[dict[str, Any], Any, Names]:
    """A process is watched first: then its profile and its memory are of the same moment."""
    pid = process_of(order.asked)
    if pid is None:
        file, timeline, missing = chosen(order.asked), None, {"timeline": NO_PROCESS, "waterfall": NO_PROCESS}
    else:
        file_of(pid, order.file)
        timeline, missing = watch(pid, order.seconds), {"waterfall": NO_WATERFALL}
        file = written_anew(pid, order.file)
    profile = read(file)
    names = Names(profile)
    waterfall = waterfall_parts(pid, profile) if pid is not None else None
    data = page_data(profile, names, file)
    if pid is not None:
        data["facts"]["program"] = name_of(pid) or data["facts"]["program"]
    data |= {"timeline": timeline, "waterfall": waterfall, "missing": data["missing"] | missing}
    return data, profile, names


def default_output(data: dict[str, Any]) -> Path:
    return Path(f"{data['facts']['file']}.html")


def report(order: Order) -> int:
    data, profile, names = data_of(order)
    output = order.output or default_output(data)
    write_page(output, page_text(data))
    stdout_console().print(f"{output}: {heading(profile)}", markup=False, highlight=False)
    say_stale(names)
    return 0
