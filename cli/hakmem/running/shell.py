# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem path` and `hakmem env`: where the library is, and the line that a shell is to evaluate."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Optional

from hakmem.base.errors import Refusal
from hakmem.process.places import LIBRARY, SECURE_LIBRARY, existing, find_folder, find_library
from hakmem.running.exec import check_settings, preloads, settings_of, variables_of

FLAVOURS = {
    "preload": LIBRARY, "secure": SECURE_LIBRARY, "static": "libhakmem.a", "override": "libhakmem-override.a",
    "dl": "libhakmem-dl.so",
}
SHELLS = ("sh", "bash", "zsh", "fish")


def print_for_shell(line: str) -> None:
    """Byte by byte what the path or the value is: the locale has no part in it."""
    sys.stdout.buffer.write(os.fsencode(line) + b"\n")


def print_path(flavour: str = "preload", build: Optional[Path] = None) -> int:
    if flavour not in FLAVOURS:
        raise Refusal(f"--flavour {flavour}: allowed: {', '.join(FLAVOURS)}")
    print_for_shell(str(existing(find_folder(build) / FLAVOURS[flavour])))
    return 0


def fish_quoted(text: str) -> str:
    """In single quotes fish knows two escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def line_of(name: str, value: str, shell: str) -> str:
    return f"set -gx {name} {fish_quoted(value)}" if shell == "fish" else f"export {name}={shlex.quote(value)}"


def users_shell() -> str:
    name = os.path.basename(os.environ.get("SHELL", ""))
    return name if name in SHELLS else "sh"


def print_env(
    shell: Optional[str] = None, mode: Optional[str] = None, price: Optional[str] = None,
    settings: tuple[str, ...] = (), build: Optional[Path] = None, library: Optional[Path] = None, secure: bool = False,
) -> int:
    shell = users_shell() if shell is None else shell
    if shell not in SHELLS:
        raise Refusal(f"--shell {shell}: allowed: {', '.join(SHELLS)}")
    file, base = find_library(build, library, secure), dict(os.environ)
    wanted = settings_of(mode, price, settings)
    check_settings(wanted, file)
    for name, value in {"LD_PRELOAD": preloads(base, file, []), **variables_of(wanted)}.items():
        print_for_shell(line_of(name, value, shell))
    return 0
