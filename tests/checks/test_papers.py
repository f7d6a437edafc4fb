# SPDX-License-Identifier: MIT OR Apache-2.0
"""The project's papers: their numbers agree, what they point at is there, the tour's edits still find their lines."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = {".git", "build"}
LINK = re.compile(r"\]\(([^()\s]+)\)")  # pictures, too
CODE = re.compile(r"^```.*?^```|^    .*?$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"`(?:\S+ )?((?:src|scripts|tests|lab|cli|docs|bench|tools|cmake|include)/[\w./-]+)`")
PAST = ROOT / "docs/design/renames.md"
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def pages() -> list[Path]:
    found: list[Path] = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in NOT_OURS]
        found += [Path(folder) / name for name in files if name.endswith(".md")]
    return sorted(found)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them: lower case, no punctuation, dashes for spaces."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(page: Path) -> list[str]:
    dead = []
    for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        name, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", name):
            continue
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            dead.append(f"{page.relative_to(ROOT)}: {target}")
    return dead


def absent_files(page: Path) -> list[str]:
    """Of those named in the text; a module may stand without its suffix."""
    text = page.read_text(encoding="utf-8") if page != PAST else ""
    names = [name for name in NAMED.findall(text) if "NAME" not in name]
    there = {name for name in names for folder in (ROOT, page.parent)
             if (folder / name).exists() or any(folder.glob(f"{name}.*"))}
    return [f"{page.relative_to(ROOT)}: {name}" for name in names if name not in there]


def version() -> str:
    header = (ROOT / "include/hakmem/hakmem.h").read_text(encoding="utf-8")
    return ".".join(re.findall(r"^#define HAK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header, re.MULTILINE))


class Papers(unittest.TestCase):
    def test_the_version_is_that_of_the_header(self) -> None:
        self.assertIn(f"\nversion: {version()}\n", (ROOT / "CITATION.cff").read_text(encoding="utf-8"))
        self.assertIn(version(), (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))

    def test_every_file_that_is_named_is_there(self) -> None:
        self.assertEqual([name for page in pages() for name in absent_files(page)], [])

    def test_every_link_has_an_end(self) -> None:
        self.assertEqual([link for page in pages() for link in dead_links(page)], [])

    def test_both_licences_are_there(self) -> None:
        for name, text in (("LICENSE-MIT", "MIT License"), ("LICENSE-APACHE", "Apache License")):
            self.assertIn(text, (ROOT / name).read_text(encoding="utf-8"))


class Tour(unittest.TestCase):
    """CONTRIBUTING.md; its commands are typed by hand when it changes, here only the edits are tried."""

    def test_its_edits_change_the_files_they_name(self) -> None:
        text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        edits = [shlex.split(line) for line in re.findall(r"^    (sed .+)$", text, re.MULTILINE)]
        self.assertGreater(len(edits), 2)
        for edit in edits:
            self.assertTrue(self.changes(edit), edit)

    def changes(self, edit: list[str]) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / edit[-1]
            copy.parent.mkdir(parents=True)
            shutil.copy(ROOT / edit[-1], copy)
            subprocess.run(edit, cwd=folder, check=True)
            return copy.read_bytes() != (ROOT / edit[-1]).read_bytes()


if __name__ == "__main__":
    unittest.main()
