# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands that are done before typer is loaded: `exec`, `path` and `env`, whose work is shorter than that.

Only what is spelt well and wholly known is taken here. Everything else, help among it, is typer's: cli has the same
commands with the same options, and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Optional


class Option(NamedTuple):
    field: str
    takes: Callable[[str], Any]
    many: bool = False


OPTIONS = {
    "--mode": Option("mode", str), "--price": Option("price", str), "--set": Option("settings", str, many=True),
    "--build": Option("build", Path), "--library": Option("library", Path),
}
FLAGS = {"--stats": "stats"}
OWN = {  # what each command knows
    "exec": {"--mode", "--price", "--set", "--build", "--library", "--stats"},
    "env": {"--mode", "--price", "--set", "--build", "--library", "--shell"},
    "path": {"--build", "--flavour"},
}
PLAIN = {"--shell": Option("shell", str), "--flavour": Option("flavour", str)}


def parsed(command: str, words: list[str]) -> Optional[tuple[dict[str, Any], list[str]]]:
    """The options by their fields, and what follows them. None: not for here."""
    known, rest, given = OPTIONS | PLAIN, list(words), {}
    while rest and rest[0].startswith("-") and rest[0] != "--":
        name, has_value, value = rest.pop(0).partition("=")
        if name not in OWN[command] or (name in FLAGS and has_value):
            return None
        if name in FLAGS:
            given[FLAGS[name]] = True
            continue
        if not has_value and not rest:
            return None
        taken = known[name].takes(value if has_value else rest.pop(0))
        option = known[name]
        given[option.field] = (*given.get(option.field, ()), taken) if option.many else taken
    return given, rest[1:] if rest[:1] == ["--"] else rest


def done_early(words: list[str]) -> Optional[int]:
    """The exit status of a command that was carried out here; None: it is for typer."""
    if not words or words[0] not in OWN:
        return None
    found = parsed(words[0], words[1:])
    if found is None:
        return None
    options, rest = found
    if words[0] == "exec" and rest:
        from hakmem.exec import Order, execute

        execute(Order(rest, **options))
    if words[0] == "exec" or rest:
        return None
    from hakmem import shell

    return (shell.print_env if words[0] == "env" else shell.print_path)(**options)
