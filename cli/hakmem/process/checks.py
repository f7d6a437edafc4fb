# SPDX-License-Identifier: MIT OR Apache-2.0
"""What must hold before a figure is printed. Each check answers with None, or with what is wrong in one line."""

from __future__ import annotations

import os
from pathlib import Path

from hakmem.process.counters import Comparison
from hakmem.process.launch import Figures
from hakmem.process.preloadable import why_not_preloadable
from hakmem.process.proof import Executed, Record, without_record


def name_of(path: str) -> str:
    return os.path.basename(path) or path


def identity_problem(figures: Figures, records: list[Record], library: Path) -> str | None:
    """malloc and free of the program, and of every other process that wrote a record, must be the library's."""
    if not any(record.pid == figures.pid for record in records):
        return "no proof: the program started without what was preloaded, so nothing shows which malloc served it"
    strangers = [record for record in records if not record.served_by(library)]
    return stranger_problem(strangers[0], library) if strangers else None


def escape_problem(figures: Figures, executed: list[Executed] | None, records: list[Record]) -> str | None:
    """The main process may execute one program after another (env, sh -c): the last one must have been served too."""
    programs = [program for program in executed or [] if program.pid == figures.pid]
    if programs and programs[-1] in without_record(programs, records):
        return f"{why_escaped(programs[-1])}; HAKMEM did not serve it"
    return None


def why_escaped(program: Executed) -> str:
    reason = why_not_preloadable(Path(program.exe)) if os.path.isfile(program.exe) else None
    name = name_of(program.exe) or "a program that may not be read"
    return f"{name} {reason or 'was started without what hakmem had put into LD_PRELOAD'}"


def stranger_problem(record: Record, library: Path) -> str:
    program = name_of(record.exe)
    if os.path.realpath(record.malloc_path) == os.path.realpath(record.exe):
        return f"{program} has a malloc of its own inside its executable; no preloaded library can replace it"
    return f"in {program} malloc and free are served by {record.server}, not by {library}"


def so_file_problem(figures: Figures, records: list[Record], errors: str, library: Path) -> str | None:
    """Asked of a run of a trivial program: is `library` HAKMEM, and can it be preloaded?"""
    if figures.signal:
        return f"{library}: a trivial program preloaded with it {figures.end}"
    if not records or not records[0].served_by(library):
        return f"{library} is not HAKMEM: {first_line(errors) or 'preloaded, it does not serve malloc and free'}"
    if not records[0].owned:
        return f"{library} is not HAKMEM: it serves malloc, but hak_owns() does not know its blocks"
    return None


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def count_problem(comparison: Comparison) -> str | None:
    if comparison.probed and not comparison.routes:
        return f"HAKMEM wrote no counters, while the probe counted {comparison.probed:,} calls of malloc and free"
    if comparison.unserved:
        return f"HAKMEM did not serve {comparison.unserved:,} of the {comparison.probed:,} calls the probe counted"
    return None


def end_problem(shown: Figures, others: list[tuple[str, Figures]]) -> str | None:
    """All runs must end alike; the shown one ran on HAKMEM, counted."""
    for where, figures in others:
        if figures.status != shown.status:
            return (f"the program {shown.end} on HAKMEM in the counted run, but {figures.end} {where} "
                    "(the first writes where this command does, the others to files)")
    return None
