# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands that are done without typer: `run`, `exec`, `path` and `env`, all that the base install can.

Only what is spelt well and wholly known is taken here. Everything else, help among it, is typer's: cli has the same
commands with the same options, and says what is wrong. Where typer is not installed, bare says it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Optional


class Option(NamedTuple):
    field: str
    takes: Callable[[str], Any]
    many: bool = False


def runs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise ValueError(text)
    return int(text)


OPTIONS = {
    "--mode": Option("mode", str), "--price": Option("price", str), "--set": Option("settings", str, many=True),
    "--build": Option("build", Path), "--library": Option("library", Path),
}
FLAGS = {"--stats": "stats", "--children": "children"}
PERHAPS = {"--profile": "profile"}  # with =VALUE, or without: "". The next word is never its value
OWN = {  # what each command knows
    "run": {"--runs", "--stdin", "--build", "--library"},
    "exec": {"--mode", "--price", "--set", "--build", "--library", "--stats", "--profile", "--children"},
    "env": {"--mode", "--price", "--set", "--build", "--library", "--shell"},
    "path": {"--build", "--flavour"},
}
AFTER_EXEC = "exec-profile"  # what hak_attend asks for when a program has ended
PLAIN = {
    "--shell": Option("shell", str), "--flavour": Option("flavour", str),
    "--runs": Option("runs", runs), "--stdin": Option("stdin", str),
}


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
        if name in PERHAPS:
            given[PERHAPS[name]] = value
            continue
        if not has_value and not rest:
            return None
        option = known[name]
        try:
            taken = option.takes(value if has_value else rest.pop(0))
        except ValueError:
            return None
        given[option.field] = (*given.get(option.field, ()), taken) if option.many else taken
    return given, rest[1:] if rest[:1] == ["--"] else rest


def told_apart(words: list[str]) -> list[str]:
    """As typer is to have them: what may have a value has one."""
    if words[:1] != ["exec"]:
        return words
    found, rest = words[:1], words[1:]
    while rest and rest[0].startswith("-") and rest[0] != "--":
        word = rest.pop(0)
        found.append(f"{word}=" if word in PERHAPS else word)
        if word in OPTIONS:
            found += rest[:1]
            del rest[:1]
    return found + rest


def done_early(words: list[str]) -> Optional[int]:
    """The exit status of a command that was carried out here; None: it is for typer."""
    if words[:1] == [AFTER_EXEC]:
        from hakmem.profiling.exec_profile import sum_up

        return sum_up(*words[1:])
    if not words or words[0] not in OWN:
        return None
    found = parsed(words[0], words[1:])
    if found is None:
        return None
    options, rest = found
    return PERFORM[words[0]](rest, **options)


# ---- each command; None: what follows its options is not what it takes ----

def perform_run(
    command: list[str], runs: int = 5, stdin: Optional[str] = None, build: Optional[Path] = None,
    library: Optional[Path] = None,
) -> int:
    from hakmem.process.places import find_places
    from hakmem.process.program import Program, default_program
    from hakmem.running.run import run_program

    program = Program(command) if command else default_program()
    return run_program(find_places(build, library), program, runs, stdin)


def perform_exec(command: list[str], **options: Any) -> Optional[int]:
    from hakmem.running.exec import Order, execute

    return execute(Order(command, **options)) if command else None


def perform_env(rest: list[str], **options: Any) -> Optional[int]:
    from hakmem.running.shell import print_env

    return None if rest else print_env(**options)


def perform_path(rest: list[str], **options: Any) -> Optional[int]:
    from hakmem.running.shell import print_path

    return None if rest else print_path(**options)


PERFORM: dict[str, Callable[..., Optional[int]]] = {
    "run": perform_run, "exec": perform_exec, "env": perform_env, "path": perform_path,
}
