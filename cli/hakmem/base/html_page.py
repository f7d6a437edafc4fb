# SPDX-License-Identifier: MIT OR Apache-2.0
"""An HTML page that needs nothing else: a template, and the data that its script draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hakmem.base.atomic_write import mask_of_process, write_whole

MARK = "/*data*/null"
# In a script element's text these would end it, or begin another; in JSON they stand in strings only.
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def filled(template: Path, data: dict[str, Any]) -> str:
    """ASCII only, so that no name can harm it, whatever bytes it has."""
    text = json.dumps(data, separators=(",", ":"))
    for character, escape in UNSAFE.items():
        text = text.replace(character, escape)
    head, mark, tail = template.read_text("ascii").partition(MARK)
    assert mark
    return head + text + tail


def write_page(path: Path, text: str) -> None:
    write_whole(path, text.encode("ascii"), 0o644 & ~mask_of_process())
