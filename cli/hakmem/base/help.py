# SPDX-License-Identifier: MIT OR Apache-2.0
"""The help of a command as a text that fits the terminal: without colours, by nothing that the base install lacks."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterable, Iterator

from hakmem.base.options import HELP_NAMES, HELP_TEXT, Argument, Command, Option, default_text

WIDTH_LEAST, WIDTH_MOST, NAMES_MOST = 40, 100, 26
Row = tuple[str, str]


def width() -> int:
    """Of the terminal, or what COLUMNS says."""
    said = os.environ.get("COLUMNS", "")
    columns = int(said) if said.isdecimal() and len(said) < 6 else shutil.get_terminal_size((WIDTH_MOST, 24)).columns
    return min(max(columns, WIDTH_LEAST), WIDTH_MOST)


def folded(words: str, columns: int, indent: str = "") -> list[str]:
    return textwrap.wrap(" ".join(words.split()), columns, initial_indent=indent, subsequent_indent=indent,
                         break_on_hyphens=False)


def table(rows: list[Row], columns: int) -> Iterator[str]:
    """Names on the left; one that is longer than most has its text below it."""
    left = min(max((len(name) for name, _ in rows), default=0), NAMES_MOST, columns // 2)
    for name, text in rows:
        lines = folded(text, max(columns - left - 4, 10)) or [""]
        if len(name) > left:
            yield f"  {name}"
        else:
            yield f"  {name:<{left}}  {lines.pop(0)}".rstrip()
        for line in lines:
            yield f"{'':<{left + 4}}{line}"


def names_of(option: Option) -> str:
    value = f"{'' if option.optional else ' '}{option.metavar}" if option.metavar else ""
    return ", ".join(reversed(option.names)) + value


def said_of(option: Option) -> str:
    said = default_text(option)
    return option.help + (f" Default: {said}." if said and "Default" not in option.help else "")


def shown(argument: Argument) -> str:
    name = argument.metavar + ("..." if argument.many else "")
    return name if argument.required else f"[{name}]"


def part(title: str, rows: Iterable[Row], columns: int) -> Iterator[str]:
    found = list(rows)
    if found:
        yield from ("", f"{title}:", *table(found, columns))


def help_of(command: Command) -> str:
    columns = width()
    words = " ".join(["Usage: hakmem", command.name, "[OPTIONS]", *map(shown, command.arguments)])
    lines = [*textwrap.wrap(words, columns, subsequent_indent="  ")]
    for paragraph in command.help.split("\n\n"):
        lines += ["", *folded(paragraph, columns)]
    lines += part("Arguments", ((one.metavar, one.help) for one in command.arguments if one.help), columns)
    options = [*((names_of(one), said_of(one)) for one in command.options), (", ".join(reversed(HELP_NAMES)), HELP_TEXT)]
    lines += [*part("Options", options, columns), "", *folded(f"Exit status: {command.status}", columns)]
    return "".join(f"{line}\n" for line in lines)


def overview(about: str, groups: Iterable[tuple[str, Iterable[Command]]]) -> str:
    """Of all commands."""
    columns = width()
    usage = textwrap.wrap("Usage: hakmem [--version] COMMAND [OPTIONS] [ARGUMENTS]", columns, subsequent_indent="  ")
    lines = [*usage, "", *folded(about, columns)]
    for title, commands in groups:
        lines += part(title, ((one.name, one.line) for one in commands), columns)
    lines += ["", *folded("hakmem COMMAND --help says what a command takes.", columns)]
    return "".join(f"{line}\n" for line in lines)
