# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of seeded faults: reading, judging and putting them into a copy of the sources."""
from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
FIELDS = frozenset({"name", "file", "kind", "breaks", "old", "new"})


class BadTable(Exception):
    """A fault that cannot be used; its text is one line."""


@dataclass(frozen=True)
class Fault:
    """One plausible mistake: `old` stands once in src/`file` and becomes `new`."""

    name: str
    file: str
    kind: str
    breaks: str
    old: str
    new: str

    @property
    def layer(self) -> str:
        return self.file.split("/")[0]

    @property
    def digest(self) -> str:
        """Tells a changed fault from the one that a recorded verdict is about."""
        return hashlib.sha256(f"{self.file}\0{self.old}\0{self.new}".encode()).hexdigest()[:12]

    def seeded(self, sources: Path) -> str:
        """The text of the file with the fault. BadTable: the text of the fault is not there, or not only once."""
        path = sources / "src" / self.file
        if not path.is_file():
            raise BadTable(f"{self.name}: no file src/{self.file}")
        text = path.read_text()
        times = text.count(self.old)
        if times != 1:
            raise BadTable(f"{self.name}: its text stands {times} times in src/{self.file}, not once")
        return text.replace(self.old, self.new)


def fault_of(row: dict[str, str], where: str) -> Fault:
    name = row.get("name", "?")
    if row.keys() != FIELDS:
        raise BadTable(f"{where}: {name}: fields are {', '.join(sorted(FIELDS))}, not {', '.join(sorted(row))}")
    if row["old"] == row["new"]:
        raise BadTable(f"{where}: {name}: the fault is no change")
    return Fault(**row)


def read_faults(folder: Path = FOLDER / "faults") -> list[Fault]:
    """All faults in the order of their files. BadTable: a row is incomplete or a name stands twice."""
    faults: list[Fault] = []
    for path in sorted(folder.glob("*.toml")):
        rows = tomllib.loads(path.read_text()).get("fault", [])
        faults += [fault_of(row, path.name) for row in rows]
    names = [fault.name for fault in faults]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadTable(f"two faults have the name {twice[0]}")
    return faults


def chosen(faults: Iterable[Fault], words: Iterable[str]) -> Iterator[Fault]:
    """The faults that a word names: by name, by layer, or by file. No words: all. BadTable: a word names none."""
    words, faults = list(words), list(faults)
    for word in words:
        if not any(word in (fault.name, fault.layer, fault.file) for fault in faults):
            raise BadTable(f"no fault, layer or file of the table is called {word}")
    return (f for f in faults if not words or any(word in (f.name, f.layer, f.file) for word in words))
