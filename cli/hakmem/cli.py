# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line. Every wrong input ends in one line on stderr that begins with `hakmem:`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from hakmem import __version__
from hakmem.base.errors import BAD_USAGE, Refusal
from hakmem.base.extras import needs
from hakmem.base.options import HELP_NAMES, AskedForHelp, Command, parsed
from hakmem.commands import GROUPS, NAMES

ABOUT = "Run programs on the HAKMEM memory allocator, and look into what it does."
AFTER_EXEC = "exec-profile"  # what hak_attend asks for when a program has ended
LAB = "of a checkout (lab/README.md)"
MOVED = {
    "bench": "bench", "front": "pareto", "simulate": "simulate", "predict": "predict", "corpus": "corpus", "excerpt": "excerpt",
}


def command_named(name: str) -> Command:
    found: Command = import_module(f"hakmem.commands.{name}").COMMAND
    return found


def grouped() -> Iterator[tuple[str, list[Command]]]:
    """All commands, by the groups of the help."""
    for group, names in GROUPS.items():
        yield group, [command_named(name) for name in names]


def print_overview() -> None:
    from hakmem.base.help import overview

    print(overview(ABOUT, grouped()), end="")


def is_of_address(word: str) -> bool:
    """A word that only `hakmem address` takes."""
    return word.lower().startswith("0x") or word.partition("=")[0] == "--pid" or word.startswith("-p")


def refuse_if_moved(words: list[str]) -> None:
    """A command of an earlier version is refused in a line that names the new one."""
    if words[0] in MOVED:
        raise Refusal(f"{words[0]} is now `hakmem-lab {MOVED[words[0]]}`, {LAB}")
    if words[0] == "explain" and any(is_of_address(word) for word in words[1:]):
        raise Refusal("explain PTR --pid PID is now `hakmem address PTR --pid PID`; `hakmem explain PID` explains a process")
    if words[0] == "decisions" and any(word.partition("=")[0] == "--plot" for word in words):
        raise Refusal(f"decisions --plot is now `hakmem-lab learning`, {LAB}")


def answered(words: list[str]) -> int | None:
    """The exit status of what is asked for without a command; None: a command is."""
    if not words or words[0] in HELP_NAMES:
        print_overview()
        return 0 if words else BAD_USAGE
    if words[0] == "--version":
        print(f"hakmem {__version__}")
        return 0
    if words[0] == AFTER_EXEC:
        from hakmem.profiling.exec_profile import sum_up

        return sum_up(*words[1:])
    return None


def carry_out(words: list[str]) -> int:
    """The exit status."""
    status = answered(words)
    if status is not None:
        return status
    refuse_if_moved(words)
    if words[0] not in NAMES:
        what = f"no such option: {words[0]}" if words[0].startswith("-") else f"no such command '{words[0]}'"
        raise Refusal(f"{what} (see hakmem --help)")
    command = command_named(words[0])
    try:
        return command.perform(**parsed(command, words[1:])) or 0
    except AskedForHelp:
        from hakmem.base.help import help_of

        print(help_of(command), end="")
        return 0
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] == "hakmem":
            raise
        raise needs(words[0]) from None
