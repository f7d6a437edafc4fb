# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `hakmem exec --profile` says when the program has ended: hak_attend starts this, with stderr for stdout.

    FOLDER/table.<pid> of each process -> FILE, named and gzipped; with --children those of other processes beside it
                                       -> on stderr: where it is, what was live, the stacks that asked for most of it

FILE is the program's; where it only runs others, as a shell does, that of the process with most.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from hakmem.base.errors import CANNOT_WRITE, Refusal
from hakmem.base.exit import printable
from hakmem.base.figures import bytes_text, counted
from hakmem.profiling.profile import Wishes, counted_line, counted_text, leak_lines, live_text, peak_text, totals
from hakmem.reading.estimate import (
    BRIEF,
    EVER,
    NOW,
    PEAK,
    PERIODS_SEEN,
    Moment,
    counted_in_use,
    is_sampled,
    sampling_lines,
    size_about,
    whole_evidence,
)
from hakmem.reading.pprof import columns, read, write
from hakmem.reading.scale import scale_of, scale_text, scaled
from hakmem.reading.symbols import Names, with_names
from hakmem.reading.table_file import tables

SUFFIX = ".heap.pb.gz"
STACKS, FRAMES = 5, 8
OTHERS = 16  # processes
NAME_BYTES = 200  # of 255: two numbers and what the file is come after it
LITTLE = 16
DENSE_PERIOD = 4096  # bytes: a rate that shows most of a small program
LITTLE_PERIOD = 1 << 16  # bytes: of what is taken by less, a program that starts others has no more to tell
TEMPORARY_TOLD = 4  # blocks freed at once have a row where they are one in so many of all bytes
PEAK_TOLD = 2  # its stacks are told where it is so many times what is live


def tell(text: str = "") -> None:
    print(text, file=sys.stderr)


def row(label: str, text: str) -> None:
    tell(f"  {label:<12} {printable(text)}")


def beside(file: Path, pid: int) -> Path:
    """Of another process: with its number before what says of which kind the file is."""
    for suffix in (SUFFIX, ".pb.gz", file.suffix):
        if suffix and file.name.endswith(suffix):
            return file.with_name(f"{file.name.removesuffix(suffix)}.{pid}{suffix}")
    return file.with_name(f"{file.name}.{pid}")


def live(profile: Any, moment: Moment = NOW) -> int:
    return totals(profile)[columns(profile)[moment.space]]


def moment_of(profile: Any) -> Moment:
    """The peak, where most of it is gone in the end."""
    return PEAK if live(profile, PEAK) > PEAK_TOLD * live(profile) else NOW


def about(profile: Any) -> str:
    return f"{'≈ ' * is_sampled(profile)}{bytes_text(live(profile))}"


def file_of(name: str, pid: str) -> Path:
    """The default, of a program whose own name may be as long as a file's can be."""
    return Path(f"{os.fsdecode(os.fsencode(Path(name).name)[:NAME_BYTES])}.{pid}{SUFFIX}")


def write_named(profile: Any, file: Path) -> tuple[Names, str]:
    """And why there is no file, if it could not be written."""
    names = Names(profile, fresh=True)
    try:
        write(file, with_names(profile, names))
    except Refusal as refusal:
        return names, str(refusal)
    return names, ""


def is_temporary(profile: Any) -> bool:
    """Much of it: what it took was freed before its thread took more."""
    return live(profile, BRIEF) > 0 and TEMPORARY_TOLD * live(profile, BRIEF) >= live(profile, EVER)


def is_little(profile: Any) -> bool:
    """Nearly all is gone, and all that there ever was is less than what may go unseen: as of a program that starts others."""
    in_use, period = counted_in_use(profile), max(profile.period, LITTLE_PERIOD)
    is_gone = LITTLE * in_use < period if in_use is not None else not profile.sample
    return is_sampled(profile) and is_gone and live(profile, EVER) < PERIODS_SEEN * period


def denser(period: int) -> str:
    also = f"{DENSE_PERIOD}, or " if period > DENSE_PERIOD else ""
    return f"--set profile_bytes={also}1: each block"


def little_text(profile: Any) -> str:
    ever = size_about(live(profile, EVER), whole_evidence(profile, EVER), profile.period)
    in_use = counted_in_use(profile)
    counted = f"{bytes_text(in_use)} in use at exit, " if in_use is not None else ""
    return (f"{counted}{ever} ever; at least one byte in {bytes_text(profile.period)} "
            f"is sampled, more with {denser(profile.period)}")


def report(profile: Any, file: Path) -> bool:
    """Whether it has a file; what it says is told in any case."""
    names, failure = write_named(profile, file)
    where = f"not written: {failure}" if failure else str(file)
    if is_little(profile):
        row("heap profile", f"{where}: {little_text(profile)}")
        return not failure
    row("heap profile", where)
    row("live", live_text(profile, ""))
    if (in_use := counted_in_use(profile)) is not None:
        scale = scale_of(profile, NOW)
        kept = f"{counted_text(in_use)} at exit, with what the program and its libraries keep till then"
        row("counted", f"{scale_text(scale)} at exit" if scale else kept)
    moment = moment_of(profile)
    row("peak", live_text(profile, "", PEAK).partition(";")[0])
    if counted := peak_text(profile):
        row("", counted_line(profile, PEAK, counted) if scale_of(profile, PEAK) else counted)
    if is_temporary(profile):
        row("temporary", f"{live_text(profile, '', BRIEF).partition(';')[0]}: freed before their thread asked for more")
    for label, line in zip(("sampled", ""), sampling_lines(profile)):
        row(label, line)
    if not live(profile) and is_sampled(profile):
        row("", f"more is seen with {denser(profile.period)}")
    if moment == PEAK:
        row("stacks", "at the peak; most of that is gone")
    for line in leak_lines(profile, names, Wishes(None, True, STACKS, "inuse_space", moment), FRAMES):
        tell(line.replace("\n", "\n  ") if line.startswith("\n") else f"  {line}")
    for path in names.stale:
        row("note", f"{path} is another build than the one that ran; its functions are not named")
    return not failure


def profiles_of(folder: Path) -> dict[int, Any]:
    """By process, those with most first."""
    found = {}
    for path in tables(folder):
        try:
            found[int(path.suffix[1:])] = scaled(read(path))
        except Refusal as wrong:
            row("process", str(wrong))
    return dict(sorted(found.items(), key=lambda item: -live(item[1])))


def report_others(profiles: dict[int, Any], file: Path, with_files: bool) -> None:
    """The programs that it ran, and children."""
    sampled = {pid: profile for pid, profile in profiles.items() if profile.sample}
    if not with_files:
        count_others(sampled)
        return
    for pid, profile in list(sampled.items())[:OTHERS]:
        own = beside(file, pid)
        failure = write_named(profile, own)[1]
        row("process", f"{pid}, {about(profile)} live in the end: {f'not written: {failure}' if failure else own}")
    if len(sampled) > OTHERS:
        row("process", f"{len(sampled) - OTHERS} more, with less, have no file")


def count_others(sampled: dict[int, Any]) -> None:
    if sampled:
        most = about(max(sampled.values(), key=live))
        of_most = "" if len(sampled) == 1 else " that had most"
        row("process", f"{counted(len(sampled), 'other', 'others')} without a file, the one{of_most} with {most} live in "
            "the end; --children: a file of each")


def chosen(profiles: dict[int, Any], first: int) -> int:
    """The program's own process, unless another one has sixteen times as much."""
    most = next(iter(profiles), first)
    held = live(profiles[first]) if first in profiles else 0
    return most if most in profiles and live(profiles[most]) > LITTLE * held else first


def sum_up(folder: str, pid: str, file: str, name: str, children: str = "") -> int:
    profiles = profiles_of(Path(folder))
    path = Path(file) if file else file_of(name, pid)
    which = chosen(profiles, int(pid))
    if which not in profiles:
        row("heap profile", "none: HAKMEM did not serve it, or could not make a file")
        return 0
    profile = profiles.pop(which)
    has_file, little = report(profile, path), is_little(profile)
    if not little:
        tell()
    if which != int(pid):
        row("process", f"{which}, which it started: in its own, {pid}, is little")
    report_others(profiles, path, bool(children))
    if has_file and not little:
        row("more", f"hakmem profile --leaks {shlex.quote(str(path))}")
        row("", f"hakmem profile --peak {shlex.quote(str(path))}")
        if is_temporary(profile):
            row("", f"hakmem profile --temporary --leaks {shlex.quote(str(path))}")
        row("", f"go tool pprof -http=: {shlex.quote(str(path))}")
    return 0 if has_file else CANNOT_WRITE
