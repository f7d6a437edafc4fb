# SPDX-License-Identifier: MIT OR Apache-2.0
"""Has another process sample its calls for a while, by the mailbox that its next slow path reads (src/observe/asked.h).

    /proc/PID/mem <- unwinder, interpreter, how, then asked = 1   no signal, no stop; the kernel allows it as to a debugger
    a slow path of the process -> profile = on, answer = 1
    in the end                 <- asked = 2                 also when this command is stopped

    a lock on that open file: one command at a time asks; the kernel lets go of it when the command ends or is killed

The unwinder is the one of a libgcc that the process loaded at its start, as it cannot be closed while it runs: in the
middle of malloc none can be opened. Without one stacks are by frame pointers; in a sandbox, which may forbid the kernel
call that checks a page, not even that. The interpreter is CPython's, if it stays loaded, too.
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
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.base.stop import stops
from hakmem.base.streams import show_progress
from hakmem.reading.interpreter import interpreter_of
from hakmem.reading.living import refuse_if_ending, refuse_if_gone
from hakmem.reading.loaded import STRING_BYTES, STRINGS, STRINGS_MOST, dynamic_of, moved, stay_loaded
from hakmem.reading.tables import Changed, Memory, Tables

SYMBOLS = 6  # DT_SYMTAB
SYMBOL = struct.Struct("<IBBHQQ")
SYMBOLS_MOST = 1 << 14
LIBGCC, UNWIND, ADDRESS = "/libgcc_s.so.1", b"_Unwind_Backtrace", b"_Unwind_GetIP"
SAMPLE, REST = 1, 2
FRAMES, BARE = 1, 2
DONE, REFUSED = 1, 2
PAUSE_SECONDS = 0.01


# ---- the unwinder ----

def functions_in(memory: Memory, base: int, names: tuple[bytes, ...]) -> dict[bytes, int]:
    """Addresses of those that the image which begins here exports. Its table of symbols ends where the strings begin,
    as linkers lay it out."""
    bias, pairs = dynamic_of(memory, base)
    facts = {tag: value for tag, value in reversed(pairs)}
    symbols, strings = (moved(facts.get(tag, 0), bias, base) for tag in (SYMBOLS, STRINGS))
    count = min(SYMBOLS_MOST, (strings - symbols) // SYMBOL.size)
    if not facts or count <= 0:
        return {}
    texts = memory.read(strings, min(STRINGS_MOST, facts.get(STRING_BYTES, 0)))
    found = {}
    for name, _, _, section, value, _ in SYMBOL.iter_unpack(memory.read(symbols, count * SYMBOL.size)):
        text = texts[name:texts.find(b"\0", name)]
        if text in names and section:
            found[text] = bias + value
    return found


def unwinder_of(memory: Memory) -> tuple[int, int]:
    """Of a libgcc that stays loaded: the function that walks the stack, and the one that tells where it is. 0, 0: none."""
    paths = stay_loaded(memory)
    for area in memory.areas:
        if area.offset == 0 and area.path.endswith(LIBGCC) and area.path in paths:
            with suppress(Changed, struct.error):
                found = functions_in(memory, area.first, (UNWIND, ADDRESS))
                code = [memory.area_of(found.get(name, 0)) for name in (UNWIND, ADDRESS)]
                if all(each is not None and "x" in each.rights and each.path == area.path for each in code):
                    return found[UNWIND], found[ADDRESS]
    return 0, 0


def is_filtered(pid: int) -> bool:
    """By a seccomp filter in any thread: it may end the process for a kernel call that malloc itself does not make."""
    try:
        texts = [file.read_text("utf-8", "replace") for file in Path(f"/proc/{pid}/task").glob("*/status")]
    except OSError:
        return True
    return any(re.search(r"(?m)^Seccomp:\s*[12]$", text) for text in texts)


# ---- the mailbox ----

WHOLE, BY_FRAMES, CALLERS = range(3)  # stacks: unwound; by frame pointers; the callers of malloc alone


@dataclass
class Sampling:
    """Of one process, from outside."""

    memory: Memory
    tables: Tables
    was_on: bool  # it samples by itself: nothing is switched
    stacks: int = WHOLE
    is_bare: bool = False  # in a sandbox: it makes no kernel calls but those of malloc
    frames: int = 0  # its setting profile_frames, from before
    answered: bool = False

    def asked_at(self) -> int:
        return self.tables.at["account"] + self.tables.n["asked"]

    def field(self, name: str) -> int:
        return self.tables.at["asked"] + self.tables.n[name]

    def ask(self, what: int, frames: int) -> None:
        how = FRAMES * frames | BARE * self.is_bare
        self.memory.write(self.field("asked_how"), how, 4)
        self.memory.write(self.field("asked_answer"), 0, 4)
        self.memory.write(self.asked_at(), what, 1)

    def answer(self) -> int:
        return self.memory.number(self.field("asked_answer"), 4)

    def begin(self) -> None:
        unwind, address = unwinder_of(self.memory)
        self.is_bare = is_filtered(self.memory.pid)
        if not unwind:
            self.stacks = CALLERS if self.is_bare else BY_FRAMES
        self.memory.write(self.field("asked_unwind"), unwind, 8)
        self.memory.write(self.field("asked_address"), address, 8)
        for n, value in enumerate(interpreter_of(self.memory)):
            self.memory.write(self.field("asked_python") + 8 * n, value, 8)
        self.ask(SAMPLE, {WHOLE: self.frames, BY_FRAMES: 1, CALLERS: 0}[self.stacks])

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
            refuse_if_gone(self.memory.pid)
            self.refuse_if_off()

    def refuse_if_off(self) -> None:
        if self.answered and self.tables.setting("profile") == 0:
            raise Refusal(f"process {self.memory.pid}: its sampling was switched off meanwhile")

    def take_answer(self) -> None:
        refuse_if_gone(self.memory.pid)
        answer = self.answer()
        if answer == REFUSED:
            raise Refusal(f"process {self.memory.pid} runs with raised rights, and is not sampled from outside")
        self.answered = answer == DONE

    def end(self) -> None:
        """What was not taken yet is taken back. A process that has gone needs no end."""
        with suppress(Changed):
            self.ask(REST, self.frames)


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
    return Sampling(memory, tables, was_on, frames=int(not lent and tables.setting("profile_frames") != 0))


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
    except (Changed, struct.error):
        refuse_if_ending(pid)
        raise Refusal(f"process {pid} became another program while it was sampled") from None
    finally:
        memory.close()
