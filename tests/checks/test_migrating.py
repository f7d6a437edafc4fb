# SPDX-License-Identifier: MIT OR Apache-2.0
"""docs/guide/migrate.md: every setting, function and field it names exists, and it has every option of the allocators that are
installed here (they are read out of the libraries; one that is not installed is left out)."""

from __future__ import annotations

import re
import subprocess
import unittest
from collections.abc import Iterator
from pathlib import Path

from hakmem.cli import MOVED
from hakmem.commands import NAMES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/guide/migrate.md").read_text(encoding="utf-8")
HEADER = (ROOT / "include/hakmem/hakmem.h").read_text(encoding="utf-8")
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
CODE = re.compile(r"`([^`]+)`")


def rows(heading: str) -> list[list[str]]:
    part = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert part, heading
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part[1].splitlines()
            if line.startswith("|") and not line.startswith("|---")]


def settings() -> dict[str, str]:
    """Name and type."""
    found = {}
    for file, prefix in (("settings.def", ""), ("lab_settings.def", "lab_")):
        text = (ROOT / "src/tables" / file).read_text(encoding="utf-8")
        found |= {prefix + name: kind for name, kind in re.findall(r"^SETTING\((\w+), +(\w+)", text, re.MULTILINE)}
    return found


def exported() -> set[str]:
    """Of libhakmem.so: the malloc family and the hak_ names."""
    lines = (ROOT / "abi/libhakmem.so.symbols").read_text(encoding="utf-8").splitlines()
    return {re.split("[@ ]", line)[0] for line in lines if not line.startswith("#")}


def answers() -> Iterator[str]:
    """What stands in code in the columns that say what HAKMEM has."""
    for heading in ("glibc", "jemalloc", "tcmalloc", "mimalloc"):
        for row in rows(heading):
            yield from CODE.findall(row[-1])


def printed(library: Path) -> list[str]:
    """Its strings of more than three characters."""
    return [text.decode() for text in re.findall(rb"(?<=\0)[A-Za-z_.0-9]{4,60}(?=\0)", library.read_bytes())]


def mimalloc() -> Path | None:
    found = sorted((ROOT / "build/venv/lib").glob("python3*/site-packages/cmeel.prefix/lib/libmimalloc.so.3"))
    return found[0] if found else None


class Named(unittest.TestCase):
    def known(self, name: str) -> bool:
        field = re.fullmatch(r"hak_stats\.(\w+)", name)
        if field:
            return re.search(rf"uint64_t {field[1]};", HEADER) is not None
        word = re.split(r"[=(]", name)[0]
        return word in settings() or word in exported() or word.startswith(("libhakmem", "/proc/"))

    def test_every_answer_is_something(self) -> None:
        said = [text for text in answers() if not text.startswith(("hakmem ", "realloc("))]
        self.assertGreater(len(said), 100)
        self.assertEqual([text for text in said if not self.known(text) and text not in theirs()], [])

    def test_every_command_is_one(self) -> None:
        for text in re.findall(r"`hakmem ([a-z]+)", PAGE):
            self.assertTrue(text in (*NAMES, *MOVED), text)

    def test_every_hak_name_is_exported(self) -> None:
        names = set(re.findall(r"\bhak_[a-z_]+", PAGE)) - {"hak_stats", "hak_options", "hak_"}
        self.assertEqual(names - exported(), set())

    def test_every_value_is_allowed(self) -> None:
        values = {"price": r"speed|lean|balanced|\d+", "huge_pages": "off|auto|on", "mode": "evolving|shadow|frozen",
                  "bytes": r"\d+[KMGT]?", "flag": "on|off", "count": r"\d+"}
        kinds = settings()
        for name, value in re.findall(r'`(?:hak_set\(")?(\w+)(?:=|", ")(\w+)', PAGE):
            if name in kinds:
                self.assertRegex(value, rf"\A(?:{values.get(name) or values[kinds[name]]})\Z", name)


def theirs() -> set[str]:
    """Names of others that may stand in an answer, as what they are compared with."""
    return {"tcache:false", "speed", "sbrk"}


class Complete(unittest.TestCase):
    def has_all(self, heading: str, options: set[str]) -> None:
        self.assertGreater(len(options), 10, f"{heading}: too few options were read")
        there = {text for row in rows(heading) for cell in row[:-1] for text in CODE.findall(cell)}
        self.assertEqual(sorted(options - there), [], f"{heading}: these are missing in docs/guide/migrate.md")

    def test_glibc(self) -> None:
        loader = Path("/lib64/ld-linux-x86-64.so.2")
        if not loader.exists():
            self.skipTest("another machine's loader")
        said = subprocess.run([loader, "--list-tunables"], capture_output=True, text=True, check=True).stdout
        self.has_all("glibc", set(re.findall(r"^(glibc\.malloc\.\w+)", said, re.MULTILINE)))

    def test_jemalloc(self) -> None:
        library = LIBRARIES / "libjemalloc.so.2"
        if not library.exists():
            self.skipTest("no jemalloc")
        self.has_all("jemalloc", {text.removeprefix("opt.") for text in printed(library) if text.startswith("opt.")})

    def test_tcmalloc(self) -> None:
        library = LIBRARIES / "libtcmalloc_minimal.so.4"
        if not library.exists():
            self.skipTest("no tcmalloc")
        self.has_all("tcmalloc", {text for text in printed(library) if re.fullmatch("(TCMALLOC|PERFTOOLS)_[A-Z_]+", text)})

    def test_mimalloc(self) -> None:
        library = mimalloc()
        if not library:
            self.skipTest("no mimalloc")
        names = printed(library)
        first, last = names.index("show_errors"), names.index("arena_is_numa_local")
        former = {"eager_region_commit", "reset_decommits", "reset_delay", "decommit_extend_delay"}  # older spellings
        self.has_all("mimalloc", set(names[first:last + 1]) - former)


if __name__ == "__main__":
    unittest.main()
