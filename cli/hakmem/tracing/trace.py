# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem trace`: one program with every call of its allocator written down.

    a private folder beside FILE     the library writes there, a file for each process
    the program                      HAKMEM preloaded; its streams are this command's own
    pack                             all files become one that is complete before it has its name
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from hakmem.base.console import stderr_console
from hakmem.base.errors import CANNOT_EXECUTE, NOT_PROVEN, Refusal, Stopped
from hakmem.base.exit import printable
from hakmem.base.figures import counted
from hakmem.base.stop import stops
from hakmem.base.streams import bar, show_progress
from hakmem.process.launch import OpenStreams, start, wait_or_stop
from hakmem.process.places import PATH_MOST
from hakmem.process.preload import callers_preloads, environment, preload_value
from hakmem.process.program import Program, refuse_unless_preloadable
from hakmem.reading.unpack import refuse_unless_replaceable
from hakmem.tracing.recording import Packer, Totals, recorded_files, still_written

CHUNK_BYTES = 64 << 10  # by which a file grows: src/record/trace_chunks.h
SPARE_BYTES = 4 << 20
DISK_FULL = 1
REMOVALS_MOST = 100


def default_file(program: Program) -> Path:
    return Path(f"{program.name}.hakt")


# ---- the folder ----

@dataclass
class Recording:
    """One program's, in a folder of its own."""

    program: Program
    file: Path
    folder: Path
    kept: bool = False  # it holds what could not be packed

    @property
    def stem(self) -> Path:
        return stem_in(self.folder)


@contextmanager
def recording(program: Program, file: Path) -> Iterator[Recording]:
    """Beside the file, so that the trace gets its name at once. Meanwhile a signal raises Stopped."""
    with stops.taken():
        stops.hold()
        made = Recording(program, file, make_folder(file))
        try:
            stops.let_in()
            yield made
        finally:
            stops.held = True  # not hold(): a Stopped on its way out is no reason to leave the folder
            if not made.kept:
                remove_folder(made.folder)


def make_folder(file: Path) -> Path:
    refuse_unless_replaceable(file)
    try:
        folder = Path(tempfile.mkdtemp(prefix=".hakmem-trace-", dir=file.absolute().parent))
    except OSError as failure:
        raise Refusal(f"{file}: {(failure.strerror or str(failure)).lower()}") from None
    if len(os.fsencode(stem_in(folder))) > PATH_MOST:
        folder.rmdir()
        raise Refusal(f"{file}: the path of its folder is too long for the setting trace_file")
    return folder


def remove_folder(folder: Path) -> None:
    """Under another name first: a process that is left would else begin a file in it meanwhile, and it would stay. Again
    for those that were just about to."""
    gone = folder.with_name(f"{folder.name}-gone")
    try:
        folder.rename(gone)
    except OSError:
        gone = folder
    for _ in range(REMOVALS_MOST):
        shutil.rmtree(gone, ignore_errors=True)
        if not gone.exists():
            return


def stem_in(folder: Path) -> Path:
    return folder / "calls"


def keep_spare_room(folder: Path) -> Path:
    """Some room on the disk, for the first that is packed when the recording has taken all."""
    spare = folder / "spare"
    with spare.open("wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, SPARE_BYTES)
        except OSError:
            pass
    return spare


# ---- the program ----

THIS_COMMANDS_OWN = OpenStreams(None, None, None)


def run_traced(
    library: Path, made: Recording, files: OpenStreams = THIS_COMMANDS_OWN, folder: Path | None = None
) -> int:
    """The exit status, as a shell would say it."""
    program = made.program
    preload = preload_value([library], callers_preloads(os.environ, library))
    variables = environment(os.environ, preload, program.variables | {"HAKMEM_TRACE_FILE": str(made.stem)})
    try:
        process = start(program.argv, variables, files, folder)
    except OSError as failure:
        raise Refusal(f"{program.argv[0]}: {(failure.strerror or '').lower()}", CANNOT_EXECUTE) from None
    wait_or_stop(process)
    return exit_status(process)


def exit_status(process: subprocess.Popen[bytes]) -> int:
    return 128 - process.returncode if process.returncode < 0 else process.returncode


# ---- packing ----

def show_bar(part: float) -> None:
    show_progress(f"packing {bar(part)} {part:4.0%}")


def pack(made: Recording, spare: Path) -> Totals:
    whole = made.folder / "trace.hakt"
    with open(whole, "wb", buffering=0) as out:
        packer = Packer(out, spare, show_bar)
        try:
            packer.pack(recorded_files(made.stem))
        except OSError as failure:
            made.kept = True
            raise could_not_pack(failure, made.folder) from None
        finally:
            show_progress("")
    if packer.totals.processes:
        os.replace(whole, made.file)
    return packer.totals


def could_not_pack(failure: OSError, folder: Path) -> Refusal:
    """What was packed and what was not stay where they are."""
    why = "the disk is full" if failure.errno == errno.ENOSPC else (failure.strerror or str(failure)).lower()
    return Refusal(f"{why}: what was recorded is left in {folder}, trace.hakt there is readable", DISK_FULL)


# ---- the end ----

def lost_text(totals: Totals) -> Text:
    if totals.lost == 0:
        return Text("no event lost", style="green")
    return Text(f"{totals.lost:,} EVENTS LOST: no room, or a file that could not be written", style="bold red")


def print_summary(program: Program, totals: Totals, file: Path, running: int) -> None:
    console = stderr_console()
    console.print()
    console.print(Text(f"hakmem trace: {printable(str(program))}", style="bold"))
    console.print(
        f"{counted(len(totals.processes), 'process', 'processes')}, "
        f"{counted(len(totals.threads), 'thread', 'threads')}, {counted(totals.events, 'event', 'events')}, "
        f"{totals.bytes_per_event:.2f} bytes per event"
    )
    console.print(lost_text(totals))
    if running:
        console.print(f"note: {counted(running, 'process', 'processes')} still running; "
                      "what is called from now on is not in the trace")
    console.print(f"{printable(str(file))} ({totals.bytes / (1 << 20):.1f} MiB)")


def has_room(made: Recording) -> bool:
    return shutil.disk_usage(made.stem.parent).free >= CHUNK_BYTES


def no_trace(made: Recording, why: str) -> Refusal:
    return Refusal(f"{made.program.argv[0]}: {why}; no trace came", NOT_PROVEN)


def finish(made: Recording, spare: Path, quiet: bool) -> Totals:
    """A signal that comes meanwhile waits."""
    stops.held = True
    running = still_written(made.stem)
    full = bool(recorded_files(made.stem)) or not has_room(made)
    totals = pack(made, spare)
    if not totals.processes:
        raise no_trace(made, "there was no room for a trace" if full else "it made no call that HAKMEM served")
    if not quiet or totals.lost or running:
        print_summary(made.program, totals, made.file, running)
    return totals


def trace_program(library: Path, program: Program, file: Path, quiet: bool = False) -> int:
    """The exit status of the program. Quiet: what the trace holds is not told, but what it lacks."""
    refuse_unless_preloadable(program)
    with recording(program, file) as made:
        if not has_room(made):  # else each of its processes would say so
            raise no_trace(made, "there was no room for a trace")
        spare = keep_spare_room(made.folder)
        try:
            status = run_traced(library, made)
        except Stopped:
            finish(made, spare, quiet)
            raise
        finish(made, spare, quiet)
        return status
