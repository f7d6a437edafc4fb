# SPDX-License-Identifier: MIT OR Apache-2.0
"""A CSV whose lines are objects of one dataclass of strings, whole numbers and floats."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from hakmem.base.atomic_write import append_whole
from hakmem.base.errors import Refusal, refuse_unless_regular, written

Row = TypeVar("Row")
KINDS: dict[Any, Any] = {"str": str, "int": int, "float": float}


def append_rows(path: Path, kind: type[Row], rows: Iterable[Row]) -> None:
    """All lines at once, at the end of what is there."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names_of(kind))
    if not path.exists() or path.stat().st_size == 0:
        writer.writeheader()
    for row in rows:
        writer.writerow({name: shortened(value) for name, value in asdict(row).items()})  # type: ignore[call-overload]
    with written(path):
        append_whole(path, text.getvalue(), to_disk=True)


def names_of(kind: type[Row]) -> list[str]:
    return [field.name for field in fields(kind)]  # type: ignore[arg-type]


def shortened(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


def read_rows(path: Path, kind: type[Row], command: str) -> list[Row]:
    """`command` wrote the file; anything else is refused."""
    refuse_unless_regular(path)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(parsed(path, file, kind, command))
    except (UnicodeDecodeError, csv.Error):
        raise Refusal(f"{path}: not the rows of `{command}`") from None
    except OSError as failure:
        raise Refusal(f"{path}: {(failure.strerror or str(failure)).lower()}") from None


def parsed(path: Path, file: Iterable[str], kind: type[Row], command: str) -> Iterator[Row]:
    reader = csv.DictReader(file)
    if reader.fieldnames != names_of(kind):
        raise Refusal(f"{path}: not the rows of `{command}`")
    for number, line in enumerate(reader, start=2):
        try:
            values = {field.name: KINDS[field.type](line[field.name]) for field in fields(kind)}  # type: ignore[arg-type]
            yield kind(**values)
        except (TypeError, ValueError, KeyError):
            raise Refusal(f"{path}: line {number} is damaged") from None
