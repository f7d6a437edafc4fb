# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a command takes, declared once: parsing and help, the manual page and the completion of shells are made of it.

By nothing that the base install lacks, and by little: a program waits for `hakmem exec`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Optional

from hakmem.base.attended import program_of
from hakmem.base.errors import Refusal

HELP_NAMES = ("--help", "-h")
HELP_TEXT = "Show this message and exit."
DIGITS_MOST = 18
REQUIRED = object()  # the default of an option that has none


class Option(NamedTuple):
    names: tuple[str, ...]  # "--output", "-o"
    help: str
    metavar: str = ""  # what stands for its value; empty: it takes none
    takes: Callable[[str], Any] = str
    default: Any = None
    many: bool = False  # may be given again: a tuple
    optional: bool = False  # the value: --profile or --profile=FILE; the next word is never its value
    to: str = ""  # the parameter of `perform`; empty: as the first name

    @property
    def field(self) -> str:
        return self.to or self.names[0].lstrip("-").replace("-", "_")


def default_text(option: Option) -> str:
    """Empty: there is none to be told."""
    value = option.default if option.metavar else None
    return f"{value:g}" if isinstance(value, float) else str(value) if isinstance(value, (str, int)) else ""


class Argument(NamedTuple):
    field: str
    metavar: str
    help: str
    required: bool = True
    many: bool = False  # a list
    takes: Callable[[str], Any] = str


class Command(NamedTuple):
    """`perform` has the exit status; None is 0. It gets each option and argument by its field."""

    name: str
    help: str  # paragraphs; the first sentence is the summary, and up to its colon the line of the overview
    status: str  # the exit statuses
    perform: Callable[..., Optional[int]]
    options: tuple[Option, ...] = ()
    arguments: tuple[Argument, ...] = ()
    runs_program: bool = False  # from the first word that is no option on, words are the program's

    @property
    def summary(self) -> str:
        return " ".join(self.help.split("\n\n")[0].split()).removesuffix(".")

    @property
    def line(self) -> str:
        return f"{self.summary.partition(': ')[0]}."


class AskedForHelp(Exception):
    """By -h or --help."""


# ---- values; a ValueError says what is allowed ----

def whole(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or len(text) > DIGITS_MOST or not least <= int(text) <= most:
            raise ValueError(f"a whole number from {least:,} to {most:,}")
        return int(text)

    return number


def real(least: float, most: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise ValueError(f"a number from {least:,g} to {most:,g}")
        return value

    return number


def process_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > DIGITS_MOST:
        raise ValueError("the number of a process")
    return program_of(int(text))


# ---- parsing ----

class Words:
    """The words behind a command's name, taken one by one."""

    def __init__(self, command: Command, words: list[str]) -> None:
        self.command, self.rest = command, list(words)
        self.known = {name: option for option in command.options for name in option.names}
        self.given: dict[str, Any] = {}
        self.found: list[str] = []  # the arguments

    def wrong(self, text: str) -> Refusal:
        return Refusal(f"{text} (see hakmem {self.command.name} --help)")

    def take_all(self) -> None:
        while self.rest:
            word = self.rest.pop(0)
            if word == "--":
                break
            if word.startswith("-") and word != "-":
                self.take_option(word)
                continue
            self.found.append(word)
            if self.command.runs_program:
                break
        self.found += self.rest

    def take_option(self, word: str) -> None:
        name, has_value, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        if name in HELP_NAMES:
            raise AskedForHelp
        option = self.known.get(name)
        if option is None:
            raise self.wrong(f"no such option: {name}")
        if not option.metavar:
            self.take_flag(option, name, has_value)
        elif option.optional:
            self.given[option.field] = value
        else:
            self.keep(option, name, value if has_value else self.next_word(name))

    def take_flag(self, option: Option, name: str, more: str) -> None:
        if more:
            raise self.wrong(f"{name} takes no value")
        self.given[option.field] = True

    def next_word(self, name: str) -> str:
        if not self.rest:
            raise self.wrong(f"{name} needs a value")
        return self.rest.pop(0)

    def keep(self, option: Option, name: str, text: str) -> None:
        taken = self.valued(option.takes, f"{name} {text}", text)
        before = self.given.get(option.field, ())
        self.given[option.field] = (*before, taken) if option.many else taken

    def valued(self, takes: Callable[[str], Any], shown: str, text: str) -> Any:
        try:
            return takes(text)
        except ValueError as allowed:
            raise self.wrong(f"{shown}: allowed: {allowed}") from None

    def set_arguments(self) -> None:
        left = list(self.found)
        for argument in self.command.arguments:
            taken = left if argument.many else left[:1]
            if argument.required and not taken:
                raise self.wrong(f"{argument.metavar} is missing")
            values = [self.valued(argument.takes, f"{argument.metavar} {text}", text) for text in taken]
            self.given[argument.field] = values if argument.many else next(iter(values), None)
            left = left[len(taken):]
        if left:
            raise self.wrong(f"one argument too many: {left[0]}")

    def set_defaults(self) -> None:
        for option in self.command.options:
            if option.default is REQUIRED and option.field not in self.given:
                raise self.wrong(f"{option.names[0]} is missing")
            default = () if option.many else option.default if option.metavar else False
            self.given.setdefault(option.field, default)


def parsed(command: Command, words: list[str]) -> dict[str, Any]:
    """By field; a Refusal says what is wrong."""
    taken = Words(command, words)
    taken.take_all()
    taken.set_arguments()
    taken.set_defaults()
    return taken.given
