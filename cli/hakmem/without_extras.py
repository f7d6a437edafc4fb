# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is answered where an extra is not installed: help, version, and a line that says what is wrong or missing.

The wheel has the help texts of all commands, as typer writes them; a checkout has none, as all is installed there.
"""

from __future__ import annotations

from pathlib import Path

from hakmem import __version__
from hakmem.base.errors import Refusal
from hakmem.quick_cli import OWN

HELP = Path(__file__).parent / "help"
ASKS_FOR_HELP = ("-h", "--help")
TOOLS = {"typer", "rich", "elftools", "google"}  # what hakmem[tools] brings; hakmem[bench]: that, and all else
MEASURES = ("bench", "front")


def command_of(words: list[str]) -> str:
    """The longest beginning of it that is a command: bench compare is bench-compare."""
    found = [word for word in words if not word.startswith("-")][:2]
    return next((name for name in ("-".join(found), *found[:1]) if (HELP / f"{name}.txt").is_file()), "")


def help_asked(words: list[str]) -> bool:
    """Before the program, whose own options follow it."""
    options = words if words[:1] and words[0] not in OWN else words[1:2]
    return not words or any(word in ASKS_FOR_HELP for word in [*words[:1], *options])


def missing_extra(words: list[str], missing: ModuleNotFoundError) -> Refusal:
    module = (missing.name or "").partition(".")[0]
    return needs(words[0], "tools" if module in TOOLS and words[0] not in MEASURES else "bench")


def needs(what: str, extra: str) -> Refusal:
    return Refusal(f"{what} needs more than is installed here: " + (
        f"pip install 'hakmem[{extra}]'" if HELP.is_dir() else "make setup build"))


def answer(words: list[str], missing: ModuleNotFoundError) -> int:
    """The exit status."""
    if words == ["--version"]:
        print(f"hakmem {__version__}")
        return 0
    if help_asked(words) and HELP.is_dir():
        print((HELP / f"{command_of(words) or 'hakmem'}.txt").read_text(encoding="utf-8"), end="")
        return 0 if words else 2
    if words and words[0] in OWN:
        raise Refusal(f"{words[0]}: an option that is unknown, or malformed, or none given (see hakmem {words[0]} --help)")
    if not words or HELP.is_dir() and not (HELP / f"{words[0]}.txt").is_file():
        raise Refusal(f"no such command{f' {words[0]!r}' if words else ''} (see hakmem --help)")
    raise missing_extra(words, missing)
