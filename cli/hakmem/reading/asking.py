# SPDX-License-Identifier: MIT OR Apache-2.0
"""Has another process sample its calls for a while, by the mailbox that its next slow path reads (src/observe/asked.h).

    /proc/PID/mem <- how, modules, interpreter, then asked = 1    no signal, no stop; the kernel allows it as to a debugger
    a slow path of the process -> profile = on, answer = 1
    in the end                 <- asked = 2                 also when this command is stopped

    a lock on that open file: one command at a time asks; the kernel lets go of it when the command ends or is killed

The process finds the tables of its modules by itself, but not in a sandbox, which may forbid the kernel calls for that:
there it is told of the modules that it cannot close. The interpreter is CPython's, if it stays loaded.
"""

from __future__ import annotations

import fcntl
import os
import re
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.base.stop import stops
from hakmem.base.streams import show_progress
from hakmem.reading.interpreter import interpreter_of
from hakmem.reading.living import refuse_if_ended, refuse_if_ending
from hakmem.reading.loaded import stay_loaded
from hakmem.reading.tables import PT_LOAD, Changed, Memory, Tables, note_in, segments_of

PT_EH_FRAME = 0x6474E550  # PT_GNU_EH_FRAME
MARK_BYTES = 16
TABLE = struct.Struct(f"<QQQI4x{MARK_BYTES}s")
USUAL_FORMS = b"\x03\x3b"  # a count of 4 bytes; rows of two offsets from the header
SAMPLE, REST = 1, 2
BARE = 1
DONE, REFUSED = 1, 2
PAUSE_SECONDS = 0.01


# ---- modules ----

def tables_of(memory: Memory, base: int) -> bytes:
    """Where the image that begins here has its .eh_frame_hdr, the segment of that, the number of functions, and its
    first bytes (struct hak_unwind_table and mark, src/record/unwind_modules.h). All zeros: none of the form that
    linkers write."""
    found = segments_of(memory, base, PT_EH_FRAME)[1]
    header = found[0][0] if found else 0
    for first, length in segments_of(memory, base, PT_LOAD)[1]:
        if first <= header < first + length:
            mark = memory.read(header, MARK_BYTES)
            if mark[0] == 1 and mark[1] & 7 == 3 and mark[2:4] == USUAL_FORMS:
                return TABLE.pack(header, first, first + length, int.from_bytes(mark[8:12], "little"), mark)
    return TABLE.pack(0, 0, 0, 0, bytes(MARK_BYTES))


def modules_of(memory: Memory, most: int) -> list[bytes]:
    """The code of images that stay loaded, as rows of struct hak_unwind_module, by rising addresses: HAKMEM's, the
    program's, and of libraries as many as there is room for."""
    own, program = memory.area_of(note_in(memory)[0]), os.readlink(f"/proc/{memory.pid}/exe")
    first = (own.path if own else "", program)
    paths, rows, start = stay_loaded(memory) | set(first), [], 0
    for area in memory.areas:
        if area.path in paths:
            start = area.first if area.offset == 0 else start
            if "x" in area.rights:
                with suppress(Changed, struct.error):
                    rows.append((area.path not in first, area.first, area.end, tables_of(memory, start)))
    chosen = sorted(sorted(rows)[:most], key=itemgetter(1))
    return [struct.pack("<QQ", begin, end) + tables for _, begin, end, tables in chosen]


def is_filtered(pid: int) -> bool:
    """By a seccomp filter in any thread: it may end the process for a kernel call that malloc itself does not make."""
    try:
        texts = [file.read_text("utf-8", "replace") for file in Path(f"/proc/{pid}/task").glob("*/status")]
    except OSError:
        return True
    return any(re.search(r"(?m)^Seccomp:\s*[12]$", text) for text in texts)


# ---- the mailbox ----

@dataclass
class Sampling:
    """Of one process, from outside."""

    memory: Memory
    tables: Tables
    was_on: bool  # it samples by itself: nothing is switched
    is_bare: bool = False  # in a sandbox: it makes no kernel calls but those of malloc
    answered: bool = False

    def asked_at(self) -> int:
        return self.tables.at["account"] + self.tables.n["asked"]

    def field(self, name: str) -> int:
        return self.tables.at["asked"] + self.tables.n[name]

    def ask(self, what: int) -> None:
        self.memory.write(self.field("asked_how"), BARE * self.is_bare, 4)
        self.memory.write(self.field("asked_answer"), 0, 4)
        self.memory.write(self.asked_at(), what, 1)

    def answer(self) -> int:
        return self.memory.number(self.field("asked_answer"), 4)

    def begin(self) -> None:
        self.is_bare = is_filtered(self.memory.pid)
        rows = modules_of(self.memory, self.tables.n["modules_most"]) if self.is_bare else []
        self.memory.write(self.field("asked_modules"), len(rows), 8)
        for number, row in enumerate(rows):
            self.memory.write_bytes(self.field("asked_module") + number * self.tables.n["module_stride"], row)
        for number, value in enumerate(interpreter_of(self.memory)):
            self.memory.write(self.field("asked_python") + 8 * number, value, 8)
        self.ask(SAMPLE)

    def await_answer(self, seconds: float) -> None:
        """For so long at most; `answered` says whether it came."""
        deadline = time.monotonic() + seconds
        while not self.was_on and not self.answered and time.monotonic() < deadline:
            self.take_answer()
            show_progress(f"process {self.memory.pid} is asked to sample: {deadline - time.monotonic():.0f} s left")
            time.sleep(PAUSE_SECONDS)

    def stay(self, seconds: float) -> None:
        """Until it has sampled for so long."""
        start = time.monotonic()
        while (left := start + seconds - time.monotonic()) > 0:
            show_progress(f"process {self.memory.pid} samples: {left:.0f} s left")
            time.sleep(min(left, 0.2))
            refuse_if_ended(self.memory.pid, "sampled")
            self.refuse_if_off()

    def refuse_if_off(self) -> None:
        if self.answered and self.tables.setting("profile") == 0:
            raise Refusal(f"process {self.memory.pid}: its sampling was switched off meanwhile")

    def take_answer(self) -> None:
        refuse_if_ended(self.memory.pid, "sampled")
        answer = self.answer()
        if answer == REFUSED:
            raise Refusal(f"process {self.memory.pid} runs with raised rights, and is not sampled from outside")
        self.answered = answer == DONE

    def end(self) -> None:
        """What was not taken yet is taken back. A process that has gone needs no end."""
        with suppress(Changed):
            self.ask(REST)


# ---- one at a time ----

def holder_of(memory: Memory) -> str:
    """The number of the process that has the lock; empty: the kernel does not say."""
    try:
        rows = [line.split() for line in Path("/proc/locks").read_text("ascii", "replace").splitlines()]
    except OSError:
        return ""
    inode = str(os.fstat(memory.file).st_ino)
    found = (row[4] for row in rows if len(row) > 5 and row[1] == "FLOCK" and row[5].rpartition(":")[2] == inode)
    return next((number for number in found if number.isdecimal() and number != "0"), "")


def refuse_if_asked(memory: Memory) -> None:
    """Else the lock is this command's until it closes the memory. Two would end each other's sampling."""
    try:
        fcntl.flock(memory.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = holder_of(memory)
        by = f"process {holder} (hakmem profile or report)" if holder else "another hakmem profile or report"
        raise Refusal(f"process {memory.pid} is sampled by {by}: wait for it") from None


def sampling_of(memory: Memory) -> Sampling:
    tables = Tables(memory)
    lent = memory.number(tables.at["account"] + tables.n["lent"], 1) != 0  # by a command that was killed: the lock is ours
    was_on = tables.setting("profile") != 0 and not lent
    return Sampling(memory, tables, was_on)


@contextmanager
def sampled(pid: int) -> Iterator[Sampling]:
    """It samples in the body, and after it as before. One that samples by itself is left alone."""
    memory = Memory(pid, written=True)
    try:
        refuse_if_asked(memory)
        sampling = sampling_of(memory)
        if sampling.was_on:
            fcntl.flock(memory.file, fcntl.LOCK_UN)  # nothing is switched, so others may read, too
        with stops.taken():
            try:
                if not sampling.was_on:
                    sampling.begin()
                yield sampling
            finally:
                show_progress("")
                if not sampling.was_on:
                    sampling.end()
    except Refusal:
        refuse_if_ended(pid, "sampled")
        raise
    except (Changed, struct.error):
        refuse_if_ending(pid, "sampled")
        raise Refusal(f"process {pid} became another program while it was sampled") from None
    finally:
        memory.close()
