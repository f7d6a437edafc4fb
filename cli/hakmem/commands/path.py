# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem path`."""

from __future__ import annotations

from pathlib import Path

from hakmem.base.options import Command, Option
from hakmem.commands.shared import BUILD


def perform(flavour: str, build: Path | None) -> int:
    from hakmem.running.shell import print_path

    return print_path(flavour, build)


COMMAND = Command(
    "path",
    "Print where the library is.",
    "0 it was printed; 2 bad usage, or there is no such library.",
    perform,
    (
        Option(("--flavour",), "preload, secure, static, override, or dl (see docs/guide/build-systems.md).", "FLAVOUR", default="preload"),
        BUILD,
    ),
)
