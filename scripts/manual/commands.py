# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands of `hakmem`, their options and arguments, as plain data; and what kind of word each one takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import typer
from hakmem.cli import app

FILES = re.compile(r"FILE|CSV|LOG|OUT|PATH|^[AB]$")
FOLDERS = re.compile(r"FOLDER")
PROGRAM = "CMD"


@dataclass(frozen=True)
class Option:
    names: tuple[str, ...]
    metavar: str  # empty: it takes no value
    help: str
    default: str
    many: bool

    @property
    def kind(self) -> str:
        return kind_of(self.metavar)


@dataclass(frozen=True)
class Argument:
    metavar: str
    help: str
    required: bool
    many: bool

    @property
    def kind(self) -> str:
        return kind_of(self.metavar)


@dataclass
class Command:
    path: tuple[str, ...]  # ("bench", "compare"); () is hakmem itself
    help: str
    epilog: str
    options: list[Option]
    arguments: list[Argument]
    below: list[Command] = field(default_factory=list)

    @property
    def summary(self) -> str:
        """The first sentence, without its full stop."""
        return one_line(self.help.split("\n\n")[0]).removesuffix(".")


def kind_of(metavar: str) -> str:
    """What completes it: program, folder, file, none."""
    if metavar == PROGRAM:
        return "program"
    if FOLDERS.search(metavar):
        return "folder"
    return "file" if FILES.search(metavar) else "none"


def one_line(text: str) -> str:
    return " ".join(text.split())


def default_of(param: Any) -> str:
    value = param.default
    return "" if value is None or isinstance(value, bool) or callable(value) else str(value)


def option_of(param: Any) -> Option:
    optional = (param.metavar or "").startswith("[=")  # the next word is none of its
    metavar = "" if param.is_flag or optional else param.metavar or "VALUE"
    return Option(tuple(param.opts), metavar, one_line(param.help or ""), default_of(param), bool(param.multiple))


def argument_of(param: Any) -> Argument:
    metavar = (param.metavar or param.name.upper()).strip("[]")
    return Argument(metavar, one_line(param.help or ""), param.required, param.nargs == -1)


HELP = Option(("--help", "-h"), "", "Show this message and exit.", "", False)


def described(command: Any, path: tuple[str, ...]) -> Command:
    params = [param for param in command.params if not param.hidden]
    options = [option_of(param) for param in params if param.opts[0].startswith("-")]
    arguments = [argument_of(param) for param in params if not param.opts[0].startswith("-")]
    below = [described(inner, (*path, name)) for name, inner in getattr(command, "commands", {}).items()]
    return Command(path, command.help or "", one_line(command.epilog or ""), [*options, HELP], arguments, below)


def command_tree() -> Command:
    return described(typer.main.get_command(app), ())


def walk(command: Command) -> Iterator[Command]:
    """It, and all below it."""
    yield command
    for inner in command.below:
        yield from walk(inner)
