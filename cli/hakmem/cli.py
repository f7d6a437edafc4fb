# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line. Every wrong input ends in one line on stderr that begins with `hakmem:`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from hakmem import __version__
from hakmem.base.errors import Refusal
from hakmem.base.exit import say
from hakmem.commands import learning, running, tracing, watching  # in the order of the help: each adds its own
from hakmem.commands.shared import app
from hakmem.quick_cli import told_apart

COMMANDS = (running, watching, tracing, learning)


def print_version(asked: bool) -> None:
    if asked:
        print(f"hakmem {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Run programs on the HAKMEM memory allocator, measured beside glibc and proven."""


def one_line(text: str) -> str:
    return " ".join(text.split())


def helper(wrong: TyperException) -> str:
    """The command whose help says how it is right. An option without its value comes without a context."""
    context = getattr(wrong, "ctx", None)
    if context:
        return context.command_path
    group, found = typer.main.get_command(app), ["hakmem"]
    for word in sys.argv[1:]:
        group = getattr(group, "commands", {}).get(word)
        if group is None:
            break
        found.append(word)
    return " ".join(found)


MOVED = {"bench": "bench", "front": "pareto", "simulate": "simulate", "predict": "predict", "corpus": "corpus", "excerpt": "excerpt"}


def refuse_if_moved(words: list[str]) -> None:
    """Commands of the version before, which only a checkout has now."""
    if words and words[0] in MOVED:
        raise Refusal(f"{words[0]} is `hakmem-lab {MOVED[words[0]]}` now: build/venv/bin/hakmem-lab of a checkout (lab/README.md)")
    if words[:1] == ["decisions"] and any(word.partition("=")[0] == "--plot" for word in words):
        raise Refusal("decisions --plot is `hakmem-lab learning` now: build/venv/bin/hakmem-lab of a checkout (lab/README.md)")


def asked_for() -> int:
    """The exit status."""
    refuse_if_moved(sys.argv[1:])
    try:
        return app(told_apart(sys.argv[1:]), prog_name="hakmem", standalone_mode=False) or 0
    except TyperException as wrong:
        if wrong.format_message():  # empty when a bare `hakmem` has printed the help
            say(f"{one_line(wrong.format_message())} (see {helper(wrong)} --help)")
        return wrong.exit_code
