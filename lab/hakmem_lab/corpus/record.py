# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab corpus`: traces of the programs of table.py, recorded anew.

Each program runs in a folder of its own under the scratch folder, with its input there; its trace gets its name when
it is complete. What was finished stays, whatever comes after it.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from difflib import get_close_matches
from pathlib import Path
from time import monotonic
from typing import IO

from hakmem.base.errors import Refusal
from hakmem.base.exit import printable
from hakmem.base.figures import counted
from hakmem.base.scratch import scratch_folder
from hakmem.base.streams import bar, show_progress
from hakmem.process.launch import OpenStreams
from hakmem.process.program import Program, refuse_unless_preloadable
from hakmem.tracing.recording import Totals
from hakmem.tracing.trace import finish, keep_spare_room, recording, run_traced
from hakmem_lab.bench.cell import last_line
from hakmem_lab.corpus.table import PROGRAMS, Row

DEFAULT_FOLDER = Path("build") / "corpus"
FAILED = 1


# ---- which ----

def chosen(names: list[str]) -> list[Row]:
    """In the order of the table; all where none is named."""
    known = [row.name for row in PROGRAMS]
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"nearest: {near[0]}" if near else f"there are {', '.join(known)}"
            raise Refusal(f"{name}: no such program in the corpus ({hint})")
    return [row for row in PROGRAMS if not names or row.name in names]


def installed(rows: list[Row]) -> list[Row]:
    for row in rows:
        if row.missing:
            print(f"{row.name}: not recorded, {row.missing[0]} is missing (apt-get install {row.package})", flush=True)
    there = [row for row in rows if not row.missing]
    if not there:
        raise Refusal("none of these programs is installed")
    return there


def file_of(row: Row, folder: Path) -> Path:
    return folder / f"{row.name}.hakt"


def refuse_to_replace(rows: list[Row], folder: Path, force: bool) -> None:
    there = [file_of(row, folder) for row in rows if file_of(row, folder).exists()]
    if there and not force:
        more = f" (and {len(there) - 1} more)" if len(there) > 1 else ""
        raise Refusal(f"{there[0]} is there already{more}: give --force to record it anew, or name other programs")


# ---- one program ----

def record(library: Path, row: Row, file: Path, work: Path) -> tuple[int, Totals]:
    """Its exit status; in `work` lies what it reads and writes."""
    program = Program(list(row.words), dict(row.variables))
    refuse_unless_preloadable(program)
    if row.file and row.text:
        (work / row.file).write_text(row.text(), encoding="utf-8")
    with recording(program, file) as made, ExitStack() as open_files:
        spare = keep_spare_room(made.folder)
        status = run_traced(library, made, streams(row, work, open_files), work)
        return status, finish(made, spare, quiet=True)


def streams(row: Row, work: Path, open_files: ExitStack) -> OpenStreams:
    def opened(path: Path, mode: str) -> IO[bytes]:
        return open_files.enter_context(path.open(mode))  # type: ignore[return-value]

    source = work / row.file if row.stdin and row.file else Path(os.devnull)
    return OpenStreams(opened(source, "rb"), opened(work / "output", "wb"), opened(work / "errors", "wb"))


# ---- all ----

def show_bar(done: int, rows: list[Row]) -> None:
    show_progress(f"recording {bar(done / len(rows))} {done + 1} of {len(rows)}: {rows[done].name}")


def told(row: Row, file: Path, totals: Totals, seconds: float) -> str:
    processes = counted(len(totals.processes), "process", "processes")
    what = f"{processes}, {counted(len(totals.threads), 'thread', 'threads')}, {counted(totals.events, 'event', 'events')}"
    lost = f", {totals.lost:,} EVENTS LOST" if totals.lost else ""
    return f"{row.name}: {what}, {totals.bytes / (1 << 20):.1f} MiB, {seconds:.1f} s{lost}: {file}"


def record_one(library: Path, row: Row, folder: Path, work: Path) -> bool:
    """Whether the program ended well; its trace is kept either way."""
    work.mkdir()
    file, start = file_of(row, folder), monotonic()
    status, totals = record(library, row, file, work)
    show_progress("")
    print(printable(told(row, file, totals, monotonic() - start)), flush=True)
    if status:
        print(f"{row.name}: exited with {status}: {printable(last_line(work / 'errors'))}", flush=True)
    return status == 0


def record_corpus(library: Path, folder: Path, names: list[str], force: bool) -> int:
    """The exit status."""
    rows = installed(chosen(names))
    refuse_to_replace(rows, folder, force)
    folder.mkdir(parents=True, exist_ok=True)
    good = True
    with scratch_folder() as scratch:
        for done, row in enumerate(rows):
            show_bar(done, rows)
            good = record_one(library, row, folder, scratch / row.name) and good
    return 0 if good else FAILED


def print_programs() -> None:
    for row in PROGRAMS:
        state = "" if not row.missing else f"  (missing: apt-get install {row.package})"
        print(f"{row.name:<16}{' '.join(row.words)}{state}")
