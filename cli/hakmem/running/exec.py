# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem exec`: runs a program once on HAKMEM, by becoming it.

    this process --execve--> the program                            its number, terminal and status are the program's
                                                                    with --watch: it keeps its samples in FILE.<pid>
                 --execve--> hak_attend --fork--> the program       with --stats: a summary on stderr when it has ended
                                        \\---> exec_profile.py       with --profile: what its table of samples says

Nothing that loads slowly is imported here: the program waits for it.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn, Optional

from hakmem.base import streams
from hakmem.base.errors import CANNOT_EXECUTE, Refusal
from hakmem.base.extras import needs
from hakmem.process.executable import SHELL, executable_file, found_file, loaded_file
from hakmem.process.places import PATH_MOST, existing, find_folder, find_library
from hakmem.process.preload import callers_preloads, is_allocator, preload_value
from hakmem.process.preloadable import (
    is_built_for_musl, is_for_musl, is_program_of_musl, library_for, refuse_unless_hakmem, refuse_unless_served,
)

PERIOD_VARIABLE, PERIOD = "HAKMEM_PROFILE_BYTES", "64K"
TABLE_VARIABLE = "HAKMEM_PROFILE_TABLE"
NAME_BYTES = 200  # of 255: a number comes after it
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class Order(NamedTuple):
    command: list[str]
    mode: Optional[str] = None
    price: Optional[str] = None
    stats: bool = False
    profile: Optional[str] = None  # a file; "": by the program's name and number
    settings: tuple[str, ...] = ()  # name=value
    build: Optional[Path] = None
    library: Optional[Path] = None
    children: bool = False  # with --profile: a file for each of them, too
    secure: bool = False  # on libhakmem-secure.so
    watch: Optional[str] = None  # a file, whose name gets the process's number; "": by the program's name


# ---- settings ----

def settings_of(mode: str | None, price: str | None, pairs: tuple[str, ...]) -> dict[str, str]:
    """The later of two with one name wins."""
    found = {name: value for name, value in (("mode", mode), ("price", price)) if value is not None}
    for pair in pairs:
        name, is_pair, value = pair.partition("=")
        if not is_pair or not name:
            raise Refusal(f"--set {pair}: give it as name=value")
        found[name.lower()] = value
    return found


def check_settings(settings: Mapping[str, str], preloaded: Path) -> None:
    """Asks the library itself, where its flavour to be opened is beside it; the program would only hear a warning."""
    file = preloaded.parent / "libhakmem-dl.so"
    if not settings or not file.is_file():
        return
    import ctypes

    for name in [name for name in os.environ if name.startswith("HAKMEM_")]:
        del os.environ[name]  # else it would complain of them, and the program once more
    library = ctypes.CDLL(str(file))
    for name, value in settings.items():
        answer = library.hak_set(os.fsencode(name), os.fsencode(value))
        if answer in (errno.ENOENT, errno.EINVAL):
            raise Refusal(f"{name}={value}: {why_refused(name, value, preloaded)}")


def why_refused(name: str, value: str, preloaded: Path) -> str:
    """What the library tells a program: what is allowed, or the new or the nearest name."""
    import subprocess

    said = subprocess.run(
        [SHELL, "-c", ":"], env={**variables_of({name: value}), "LD_PRELOAD": str(preloaded)},
        stdin=subprocess.DEVNULL, capture_output=True, check=False,
    ).stderr
    return os.fsdecode(said).partition(" ignored: ")[2].strip() or "no such setting, or a value that is not allowed"


def variables_of(settings: Mapping[str, str]) -> dict[str, str]:
    return {f"HAKMEM_{name.upper()}": value for name, value in settings.items()}


def preloads(base: Mapping[str, str], library: Path, before: list[Path]) -> str:
    """What the caller preloads stays, behind; HAKMEM comes once."""
    others = callers_preloads(base, library)
    for entry in others:
        if os.path.basename(entry).startswith("libhakmem"):
            raise Refusal(f"LD_PRELOAD has another HAKMEM, {entry}: unset it, or name it with --library")
        if is_allocator(entry):
            raise Refusal(f"LD_PRELOAD has another allocator, {entry}: unset it, as a program is served by one only")
    return preload_value([*before, library], others)


# ---- what the program inherits ----

def callers_masks() -> tuple[int, int]:
    """Signals that the caller blocks and ignores: bin/hakmem saw them before Python and env changed some."""
    said = str(sys._xoptions.get("hakmem_signals", "0,0")).split(",")
    try:
        return int(said[0], 16), int(said[1], 16)
    except (ValueError, IndexError):
        return 0, 0


def restore_signals() -> None:
    blocked, ignored = callers_masks()
    for number in IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_IGN if ignored >> (number - 1) & 1 else signal.SIG_DFL)
    if blocked >> (signal.SIGINT - 1) & 1:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])


def close_what_was_closed() -> None:
    """By becoming the program: a line on stderr may be to come."""
    for number in streams.closed:
        os.set_inheritable(number, False)


def become(file: Path, argv: list[str], variables: Mapping[str, str], name: str) -> NoReturn:
    """A text that begins with no #! is one for the shell, as always."""
    restore_signals()
    close_what_was_closed()
    try:
        try:
            os.execve(file, argv, dict(variables))
        except OSError as failure:
            if failure.errno != errno.ENOEXEC:
                raise
            os.execve(SHELL, [SHELL, str(file), *argv[1:]], dict(variables))
    except OSError as failure:
        raise Refusal(f"{name}: cannot be executed: {(failure.strerror or '').lower()}", CANNOT_EXECUTE) from None


def with_period(variables: Mapping[str, str]) -> dict[str, str]:
    """Of a run that is looked at once, samples are closer than of one that is always profiled, unless told otherwise."""
    return {PERIOD_VARIABLE: PERIOD, **variables}


def watching(order: Order) -> dict[str, str]:
    """Of a process that may be asked later, whatever folder it works in then."""
    if order.watch is None:
        return {}
    if order.profile is not None:
        raise Refusal("--watch or --profile, one of them: with --watch the process is asked while it runs, by its number")
    path = Path(order.watch or os.fsdecode(os.fsencode(Path(order.command[0]).name)[:NAME_BYTES]) + ".watch").absolute()
    if len(os.fsencode(path)) > PATH_MOST:
        raise Refusal(f"--watch={path}: longer than the {PATH_MOST} bytes that a setting's path may have")
    refuse_unless_written(path, "--watch")
    return {TABLE_VARIABLE: str(path)}


def refuse_unless_written(path: Path, option: str) -> None:
    try:
        is_folder = path.is_dir()
    except OSError as failure:
        raise Refusal(f"{option}={path}: {(failure.strerror or '').lower()}") from None
    if is_folder:
        raise Refusal(f"{option}={path}: a folder; name a file")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise Refusal(f"{path.parent}: a profile cannot be written there")


def check_profile(file: str) -> None:
    """Before the program runs for hours."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("google", "rich", "elftools")):
        raise needs("exec --profile")
    refuse_unless_written(Path(file or "x"), "--profile")


def attending(order: Order, attendant: Path) -> list[str]:
    words = [str(attendant), *(["-s"] if order.stats else [])]
    if order.profile is None:
        return words
    return [*words, *(["-c"] if order.children else []), "-p", order.profile, "-i", sys.executable, "-m", str(Path(__file__).resolve().parents[1])]


def refuse_if_not_watched(order: Order, path: Path) -> None:
    """Before a library for its libc is looked for."""
    options = [name for name, asked in (("--stats", order.stats), ("--profile", order.profile is not None)) if asked]
    if options and is_program_of_musl(path) and not is_built_for_musl(order.build):
        instead = "--set profile_file=FILE writes a profile to FILE.PID at its end" if order.profile is not None else \
            "--set counters_file=FILE writes its counters to FILE.PID"
        watch = f"{' and '.join(options)} watch{'es' * (len(options) == 1)}"
        raise Refusal(f"{order.command[0]}: {path.name} is linked with musl, and {watch} by programs of glibc: {instead}")


def execute(order: Order) -> NoReturn:
    name = order.command[0]
    refuse_if_not_watched(order, loaded_file(executable_file(name)))
    library, base = library_for(name, order.build, order.library, order.secure), dict(os.environ)
    refuse_unless_served(name, library)
    if order.library is not None:
        refuse_unless_hakmem(library)
    settings = settings_of(order.mode, order.price, order.settings)
    if order.profile is not None:
        check_profile(order.profile)
    elif order.children:
        raise Refusal("--children goes with --profile")
    check_settings(settings, find_library(order.build, None) if is_for_musl(library) else library)
    variables = base | watching(order) | variables_of(settings)
    if order.profile is not None or order.watch is not None:
        variables = with_period(variables)
    file = found_file(name)
    if not order.stats and order.profile is None:
        become(file, order.command, variables | {"LD_PRELOAD": preloads(base, library, [])}, name)
    folder = find_folder(order.build)
    attendant = existing(folder / "hak_attend")
    witnesses = [existing(folder / "libhakident.so")] if order.stats else []
    variables["LD_PRELOAD"] = preloads(base, library, witnesses)
    become(attendant, [*attending(order, attendant), str(library), str(file), *order.command], variables, name)
