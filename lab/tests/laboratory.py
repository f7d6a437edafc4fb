# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the laboratory's tests share. What they have in common with those of the product is in cli/tests/support.py."""

from __future__ import annotations

import subprocess

from forked import run_forked
from support import COMMAND, clean_environment

LAB = COMMAND.with_name("hakmem-lab")


def lab(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command's answer (LAB: the command itself, as it is started by hand)."""
    return run_forked(arguments, clean_environment(**variables))
