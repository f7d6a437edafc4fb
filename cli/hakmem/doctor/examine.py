# SPDX-License-Identifier: MIT OR Apache-2.0
"""All questions, and how their answers are shown."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Optional

from hakmem.base.console import NARROW, stdout_console
from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.base.help import folded
from hakmem.doctor import program, system
from hakmem.doctor.finding import Finding, State, status_of
from hakmem.process.places import Places, find_places
from hakmem.process.preloadable import library_for

STYLES = {State.WELL: "green", State.NOTE: "cyan", State.CHANGE: "yellow", State.UNSERVED: "bold red"}


def verdict(findings: list[Finding], command: Optional[str]) -> str:
    who = command or "programs"
    tried = "" if any(each.about == "library" and each.state == State.WELL for each in findings) else "; the library was not tried"
    changes = sum(each.state == State.CHANGE for each in findings)
    if status_of(findings) == State.UNSERVED:
        return f"HAKMEM would not serve {who}"
    served = f"HAKMEM would serve {who}"
    if changes:
        return f"{served}; {changes} thing{'s' if changes > 1 else ''} to change{tried}"
    return f"{served}{tried or '; all is well'}"


def show_list(findings: list[Finding], columns: int) -> None:
    """The table on a narrow terminal."""
    for each in findings:
        print("\n".join(folded(printable(f"{each.state.word}: {each.about}: {each.found}"), columns)))
        print("\n".join(folded(printable(each.means), columns, "  ")))
        if each.change:
            print("\n".join(folded(printable(f"→ {each.change}"), columns, "  ")))


def show_table(findings: list[Finding]) -> None:
    console = stdout_console()
    if console.width < NARROW:
        show_list(findings, console.width)
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("", "question", "found", "what it means, and what to change"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "")
    for each in findings:
        means = Text(printable(each.means))
        if each.change:
            means.append(f"\n→ {printable(each.change)}", style="yellow" if each.state > 0 else "")
        word = Text(each.state.word, style=STYLES[each.state])
        table.add_row(word, Text(printable(each.about)), Text(printable(each.found)), means)
    console.print(table)


def show_lines(findings: list[Finding]) -> None:
    """For a file or a pipe: a line each."""
    for each in findings:
        change = f" -> {each.change}" if each.change else ""
        print(printable(f"{each.state.word + ':':<12}{each.about}: {each.found} - {each.means}{change}"))


def show_json(findings: list[Finding], command: Optional[str]) -> None:
    rows = [each._asdict() | {"state": each.state.word} for each in findings]
    print(json.dumps({"program": command, "status": status_of(findings), "findings": rows}, indent=2))


def library_of(command: str, places: Places, build: Optional[Path], library: Optional[Path], secure: bool) -> Path:
    """The one for glibc where none for the program's libc was built, or the command cannot be run: the findings tell."""
    try:
        return library_for(command, build, library, secure)
    except Refusal:
        return places.so_file


def examine(
    command: Optional[str], as_json: bool, build: Optional[Path], library: Optional[Path], secure: bool = False
) -> int:
    """The exit status."""
    places = find_places(build, library, secure)
    if command is not None:
        places = places._replace(so_file=library_of(command, places, build, library, secure))
    about_program = program.findings(command, places.so_file) if command is not None else []
    found = [*about_program, *system.findings(places)]
    if as_json:
        show_json(found, command)
        return status_of(found)
    (show_table if sys.stdout.isatty() else show_lines)(found)
    print(printable(verdict(found, command)))
    return status_of(found)
