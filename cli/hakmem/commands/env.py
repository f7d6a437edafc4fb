# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem env`."""

from __future__ import annotations

from typing import Any

from hakmem.base.options import Command, Option
from hakmem.commands.shared import BUILD, LIBRARY, MODE, PRICE, SECURE, SETTING


def perform(**given: Any) -> int:
    from hakmem.running.shell import print_env

    return print_env(**given)


COMMAND = Command(
    "env",
    """Print what makes all that a shell starts run on HAKMEM: eval "$(hakmem env)".

    In fish: hakmem env --shell fish | source""",
    "0 it was printed; 2 bad usage, or there is no library.",
    perform,
    (
        Option(("--shell",), "sh, bash, zsh or fish. Default: as $SHELL says, else sh.", "SHELL"),
        MODE, PRICE, SECURE, SETTING, BUILD, LIBRARY,
    ),
)
