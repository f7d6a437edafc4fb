# SPDX-License-Identifier: MIT OR Apache-2.0
"""The program to run."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

from hakmem.base.exit import printable
from hakmem.process.preloadable import refuse_unless_served


@dataclass(frozen=True)
class Program:
    """A command, and environment variables that belong to it whatever it runs on."""

    argv: list[str]
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return os.path.basename(self.argv[0])

    def __str__(self) -> str:
        """For a terminal: its lines stay lines."""
        text = " ".join([f"{name}={value}" for name, value in self.variables.items()] + [shlex.join(self.argv)])
        return "\n".join(map(printable, text.split("\n")))


def default_program() -> Program:
    """CPython on a small service that has a burst and rests, with every object allocated by malloc."""
    script = Path(__file__).with_name("burst.py")
    return Program([system_python(), str(script)], {"PYTHONMALLOC": "malloc"})


def system_python() -> str:
    """Debian's own when there is one: it needs nothing of the virtual environment this runs in."""
    debian = "/usr/bin/python3"
    return debian if os.access(debian, os.X_OK) else str(Path(sys.executable).resolve())


def refuse_unless_preloadable(program: Program) -> None:
    refuse_unless_served(program.argv[0])
