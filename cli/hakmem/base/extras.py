# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is answered where an extra of the package is not installed."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.errors import Refusal

BROUGHT = Path(__file__).parents[1] / "lib"  # a package brings its library; a checkout has it in build/


def needs(what: str) -> Refusal:
    how = "pip install 'hakmem[tools]'" if BROUGHT.is_dir() else "make setup build"
    return Refusal(f"{what} needs more than is installed here: {how}")
