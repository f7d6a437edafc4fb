# SPDX-License-Identifier: MIT OR Apache-2.0
"""A file that is written whole or not at all: a draft beside it takes its place.

What is no regular file (a terminal, a FIFO, /dev/null), is called by a symbolic link (/dev/stdout), or lies where no draft
can take its place (a folder of another user's, a file that is mounted by itself) is written to as it is.
"""

from __future__ import annotations

import csv
import errno
import io
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hakmem.base.errors import written
from hakmem.base.stop import stops

PAGE_BYTES = 4096
NAME_MOST = 40  # characters of the name that its draft has; a name may be as long as the file system allows
ALL_MAY = 0o666
NO_PLACE_FOR_A_DRAFT = (errno.EACCES, errno.EPERM, errno.EBUSY)


def write_whole(path: Path, content: bytes | str, mode: int | None = None) -> None:
    """Without a mode it has that of the file that was there, or what the mask allows."""
    data = content.encode(errors="surrogateescape") if isinstance(content, str) else content
    with written(path):
        if is_written_as_it_is(path):
            path.write_bytes(data)
        else:
            replace(path, data, mode_of(path) if mode is None else mode)


def write_rows(path: Path, rows: Iterable[Iterable[Any]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_whole(path, text.getvalue())


def is_written_as_it_is(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_file())


def mode_of(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return ALL_MAY & ~mask_of_process()


def mask_of_process() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def replace(path: Path, content: bytes, mode: int) -> None:
    with stops.awaited():
        try:
            replace_by_draft(path, content, mode)
        except OSError as failure:
            if failure.errno not in NO_PLACE_FOR_A_DRAFT or not path.is_file():
                raise
            path.write_bytes(content)


def replace_by_draft(path: Path, content: bytes, mode: int) -> None:
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


def refuse_unless_writable(path: Path) -> None:
    """Before a program runs for hours whose result is to be written: a page of it."""
    with written(path), stops.awaited():
        if is_written_as_it_is(path):
            refuse_unless_it_can_be_opened(path)
            return
        try:
            number, draft = tempfile.mkstemp(dir=path.parent, prefix=".hakmem-")
        except OSError as failure:
            if failure.errno not in NO_PLACE_FOR_A_DRAFT or not os.access(path, os.W_OK):
                raise
            return
        try:
            with os.fdopen(number, "wb") as file:
                file.write(bytes(PAGE_BYTES))
        finally:
            os.unlink(draft)


def refuse_unless_it_can_be_opened(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def append_whole(path: Path, text: str, to_disk: bool = False) -> None:
    """At its end; where there is no room for all of it, it is as it was."""
    with stops.awaited(), path.open("ab", buffering=0) as file:
        before, data = file.seek(0, os.SEEK_END), text.encode(errors="surrogateescape")
        try:
            while data:
                data = data[file.write(data) :]
            if to_disk:
                os.fsync(file.fileno())
        except OSError:
            file.truncate(before)
            raise
