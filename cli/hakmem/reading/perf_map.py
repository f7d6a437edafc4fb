# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names of code that a program made while it ran: /tmp/perf-PID.map, as `perf` has it.

    node --perf-basic-prof --interpreted-frames-native-stack    7f6bed7e5b80 13c JS:^work /srv/app.js:3:14
    java -XX:+DumpPerfMapAtExit; jcmd PID Compiler.perfmap      0x7f1a3c00 0x180 int Leak.grow(int)
    python3.12 -X perf                                          7f10aa00 b py::work:/srv/app.py

    PID, of its own namespace -> ROOT/tmp/perf-PID.map -> is it of that process? -> the last line that has the address

Anybody may write a file of that name, and a number comes again: the file is this user's, or the process's while that
runs, and was written while the process ran. Code that was moved or made anew has several lines; the last one counts.
"""

from __future__ import annotations

import os
import re
import stat
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Optional

from hakmem.reading.living import facts_of, own_numbers
from hakmem.reading.mapped import without_waiting
from hakmem.reading.pprof import text_of

BYTES_MOST = 1 << 28
LINE_MOST = 1 << 12
SLACK_SECONDS = 10.0  # of the clocks, and after what the profile knows last
ROOT_PID = re.compile(r"/proc/(\d+)/root")
TOLD_PID = re.compile(r"hakmem: pid (\d+),(.*)")
RUNS = "of a process that runs"
LINE = re.compile(rb"(?:0x)?([0-9a-f]{1,16}) (?:0x)?([0-9a-f]{1,16}) (.+)")
SCRIPT = re.compile(r"(?:JS|LazyCompile|Function|Script|Eval|Callback):[~*^+]?(\S*) (?:file://)?(.+?):(\d+):\d+")
PYTHON = re.compile(r"py::(.*?):(/.*|<.*>)")


class Code(NamedTuple):
    """Of a function; file "" and line 0: not known. The line is where it begins."""

    function: str
    file: str
    line: int


@dataclass(frozen=True)
class Process:
    """As a profile tells it. root: as living.root_of has it."""

    pid: int  # its own number, as getpid says it there, unless `runs`
    root: str
    begun: float  # s of the wall clock: it ran then
    ended: float  # it ran till then, at least
    runs: bool  # by what the profile says


def process_of(profile: Any, root: str) -> Optional[Process]:
    """None: the profile is not of a process, as one that was merged."""
    told = (TOLD_PID.match(text_of(profile, number)) for number in profile.comment)
    found = next((match for match in told if match), None)
    if found is None:
        return None
    at, lasts = profile.time_nanos / 1e9, profile.duration_nanos / 1e9
    return Process(int(found[1]), root, at - lasts, at + lasts, RUNS in found[2])


def here(process: Process) -> Optional[int]:
    """The number by which this command knows it. None: it has ended, or is another one by now."""
    rooted = ROOT_PID.fullmatch(process.root)
    number = int(rooted[1]) if rooted else process.pid
    try:
        ticks = float(Path(f"/proc/{number}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
    since = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")
    return number if since <= process.begun + SLACK_SECONDS else None


def paths_of(process: Process, number: Optional[int]) -> list[Path]:
    pids = [str(process.pid)]
    try:
        if number is not None and (process.root or process.runs):
            pids.insert(0, own_numbers(number)[-1])
    except OSError:
        pass
    return [Path(f"{process.root}/tmp/perf-{pid}.map") for pid in dict.fromkeys(pids)]


def users_of(number: Optional[int]) -> set[int]:
    try:
        return {os.geteuid(), *(map(int, facts_of(number).get("Uid", "").split()) if number is not None else ())}
    except OSError:
        return {os.geteuid()}


def is_its(facts: os.stat_result, process: Process, number: Optional[int], fresh: bool) -> bool:
    """fresh: the process ended just now."""
    meanwhile = process.begun - SLACK_SECONDS <= facts.st_mtime
    before_end = number is not None or fresh or facts.st_mtime <= process.ended + SLACK_SECONDS
    return stat.S_ISREG(facts.st_mode) and facts.st_uid in users_of(number) and meanwhile and before_end


def opened(process: Process, fresh: bool) -> Optional[BinaryIO]:
    """Its map, if there is one and it can be trusted."""
    number = here(process)
    for path in paths_of(process, number):
        try:
            file = open(path, "rb", opener=lambda name, flags: without_waiting(name, flags | os.O_NOFOLLOW))
        except OSError:
            continue
        if is_its(os.fstat(file.fileno()), process, number, fresh):
            return file
        file.close()
    return None


def code_of(name: str) -> Code:
    script, python = SCRIPT.fullmatch(name), PYTHON.fullmatch(name)
    if script:
        return Code(script[1] or "(anonymous)", script[2], int(script[3]))
    return Code(python[1], python[2], 0) if python else Code(name, "", 0)


def names_in(file: BinaryIO, addresses: Iterable[int]) -> dict[int, Code]:
    wanted, found = sorted(set(addresses)), {}
    left = BYTES_MOST
    while left > 0 and (line := file.readline(LINE_MOST)):
        left -= len(line)
        if not (match := LINE.match(line)):
            continue
        first = int(match[1], 16)
        for address in wanted[bisect_left(wanted, first):bisect_right(wanted, first + int(match[2], 16) - 1)]:
            found[address] = match[3]
    return {address: code_of(name.decode(errors="replace").strip()) for address, name in found.items()}


def made_code(profile: Any, root: str, addresses: Iterable[int], fresh: bool = False) -> dict[int, Code]:
    """By address, of those that the process's map has. fresh: it ended just now."""
    process = process_of(profile, root)
    file = opened(process, fresh) if process is not None else None
    if file is None:
        return {}
    with file:
        return names_in(file, addresses)
