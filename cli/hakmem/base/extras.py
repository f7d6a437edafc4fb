# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is answered where a package that a command imports is not installed.

pip installs them with hakmem. They are missing after `pip install --no-deps`, on Python 3.9, in the packages of apt and
rpm, and in a clone before `make setup`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hakmem.base.errors import Refusal

BROUGHT = Path(__file__).parents[1] / "lib"  # a package brings its library; a checkout has it in build/
PYTHON = (3, 10)  # as cli/pyproject.toml says of each


def needs(what: str) -> Refusal:
    how = "pip install hakmem" if BROUGHT.is_dir() else "make setup build"
    old = f", with Python {PYTHON[0]}.{PYTHON[1]} or newer" * (sys.version_info < PYTHON)
    return Refusal(f"{what} needs more than is installed here: {how}{old}")
