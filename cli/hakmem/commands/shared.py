# SPDX-License-Identifier: MIT OR Apache-2.0
"""What several commands take."""

from __future__ import annotations

import gc
from pathlib import Path

from hakmem.base.options import Argument, Option, process_number, whole

BUILD = Option(("--build",), "Where libhakmem.so and the tools were built.", "FOLDER", Path)
LIBRARY = Option(("--library",), "Another build of libhakmem.so to run on.", "FILE", Path)
SECURE = Option(("--secure",), "On libhakmem-secure.so, which ends the program at an error of memory (docs/security.md).")
MODE = Option(("--mode",), "Short for --set mode=MODE.", "MODE")
PRICE = Option(("--price",), "Short for --set price=PRICE: speed, balanced, lean, or a number.", "PRICE")
SETTING = Option(("--set",), "A setting (docs/guide/settings.md). May be given again.", "NAME=VALUE", many=True, to="settings")
JSON = Option(("--json",), "Print JSON.", to="as_json")
PROGRAM = Argument("command", "CMD", "The program and its arguments.", many=True)
TRACE = Argument("file", "FILE", "A trace, as `hakmem trace` makes it.", takes=Path)
PID = Argument("pid", "PID", "The process.", takes=process_number)


def output(metavar: str, text: str) -> Option:
    return Option(("--output", "-o"), text, metavar, Path)


def rows(text: str) -> Option:
    return Option(("--rows",), text, "N", whole(0, 10**9), default=20)


def collect_nothing() -> None:
    """For a command that reads a profile, tells what is in it, and ends: a collection would pass over millions of objects
    again and again, none of which can go."""
    gc.disable()
