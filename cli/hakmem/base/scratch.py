# SPDX-License-Identifier: MIT OR Apache-2.0
"""The folder for the files of one command."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hakmem.base.stop import stops


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Empty at first, and removed whatever ends the body; meanwhile a signal raises Stopped."""
    with stops.taken():
        stops.hold()
        folder = Path(tempfile.mkdtemp(prefix="hakmem-"))
        try:
            stops.let_in()
            yield folder
        finally:
            stops.held = True  # not hold(): a Stopped on its way out is no reason to leave the folder
            shutil.rmtree(folder, ignore_errors=True)
