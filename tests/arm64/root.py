# SPDX-License-Identifier: MIT OR Apache-2.0
"""The root that make_root.sh made: HAK_TEST_ROOT names its folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = Path(os.environ["HAK_TEST_ROOT"]).resolve()
ROOT = FOLDER / "root"
BASE = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root"}


def seen(path: Path) -> str:
    """A path as programs of the root see it."""
    return f"/{path.relative_to(ROOT)}"


def inside(here: Path, variables: Mapping[str, str], *command: str) -> list[str]:
    """Starts the command in the root, in the folder `here`, with no other variables."""
    given = (f"{name}={value}" for name, value in variables.items())
    return [str(HERE / "inside.sh"), str(FOLDER / "qemu"), str(ROOT), "/usr/bin/env", "-i", "-C", seen(here), *given, *command]
