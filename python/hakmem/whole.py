# SPDX-License-Identifier: MIT OR Apache-2.0
"""A file that is written whole or not at all: a draft beside it takes its place.

What is no regular file (a terminal, a FIFO, /dev/null) or is called by a symbolic link (/dev/stdout) is written to as it
is: a draft would take the place of the device or of the link.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from hakmem.errors import written

NAME_MOST = 40  # characters of the name that its draft has; a name may be as long as the file system allows


def write_whole(path: Path, content: bytes, mode: int = 0o600) -> None:
    with written(path):
        if is_written_as_it_is(path):
            path.write_bytes(content)
        else:
            replace(path, content, mode)


def is_written_as_it_is(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_file())


def replace(path: Path, content: bytes, mode: int) -> None:
    number, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:NAME_MOST]}.")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
        os.chmod(draft, mode)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
