# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line of hakmem-lab. Every wrong input ends in one line on stderr that begins with `hakmem:`."""

from __future__ import annotations

import typer
from typer.exceptions import TyperException

from hakmem.base.exit import say
from hakmem_lab.bench.command import bench_app
from hakmem_lab.commands import app
from hakmem_lab.headroom.command import headroom_app
from hakmem_lab.jobs.command import jobs_app
from hakmem_lab.judge.command import judge_app
from hakmem_lab.pareto.command import pareto_app

NAME = "hakmem-lab"
app.add_typer(bench_app, name="bench")
app.add_typer(pareto_app, name="pareto")
app.add_typer(judge_app, name="judge")
app.add_typer(jobs_app, name="jobs")
app.add_typer(headroom_app, name="headroom")


@app.callback()
def options() -> None:
    """Measure and study the HAKMEM memory allocator."""


def command_with_help(wrong: TyperException, words: list[str]) -> str:
    """The command whose help says how it is right. An option without its value comes without a context."""
    context = getattr(wrong, "ctx", None)
    if context:
        return str(context.command_path)
    group, found = typer.main.get_command(app), [NAME]
    for word in words:
        group = getattr(group, "commands", {}).get(word)
        if group is None:
            break
        found.append(word)
    return " ".join(found)


def asked_for(words: list[str]) -> int:
    """The exit status."""
    try:
        return app(words, prog_name=NAME, standalone_mode=False) or 0
    except TyperException as wrong:
        if wrong.format_message():  # empty when a bare `hakmem-lab` has printed the help
            say(f"{' '.join(wrong.format_message().split())} (see {command_with_help(wrong, words)} --help)")
        return wrong.exit_code
