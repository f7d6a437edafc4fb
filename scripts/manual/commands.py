# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands of `hakmem`, their options and arguments, as plain data; and what kind of word each one takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hakmem import cli
from hakmem.base import options

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
    path: tuple[str, ...]  # ("run",); () is hakmem itself
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


def default_of(option: options.Option) -> str:
    return options.default_text(option)


def option_of(option: options.Option) -> Option:
    metavar = "" if option.optional else option.metavar  # of --profile the next word is no value
    return Option(option.names, metavar, one_line(option.help), default_of(option), option.many)


def argument_of(argument: options.Argument) -> Argument:
    return Argument(argument.metavar, one_line(argument.help), argument.required, argument.many)


HELP = Option(options.HELP_NAMES, "", options.HELP_TEXT, "", False)
VERSION = Option(("--version",), "", "Print the version and exit.", "", False)


def described(command: options.Command) -> Command:
    found = [*map(option_of, command.options), HELP]
    return Command((command.name,), command.help, f"Exit status: {command.status}", found, [*map(argument_of, command.arguments)])


def command_tree() -> Command:
    below = [described(command) for _, commands in cli.grouped() for command in commands]
    return Command((), cli.ABOUT, "", [VERSION, HELP], [], below)


def walk(command: Command) -> Iterator[Command]:
    """It, and all below it."""
    yield command
    for inner in command.below:
        yield from walk(inner)
