# SPDX-License-Identifier: MIT OR Apache-2.0
"""man/ and completions/ are what scripts/manual would write, the pages have no fault, and they name everything."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "manual"))
import header  # noqa: E402
import mdoc  # noqa: E402
import settings_page  # noqa: E402
from commands import command_tree, walk  # noqa: E402

PAGES = sorted((ROOT / "man").iterdir())
OVERSTRUCK = re.compile(".\b")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def shown(name: str) -> str:
    """As a terminal shows it, on lines as long as they like."""
    return OVERSTRUCK.sub("", run("mandoc", "-T", "utf8", "-O", "width=1000", str(ROOT / "man" / name)).stdout)


class Pages(unittest.TestCase):
    def test_they_are_up_to_date(self) -> None:
        done = run(sys.executable, str(ROOT / "scripts/manual"), "--check")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_mandoc_finds_no_fault(self) -> None:
        self.assertEqual([page.name for page in PAGES], ["hakmem-settings.7", "hakmem.1", "hakmem.3"])
        for page in PAGES:
            done = run("mandoc", "-T", "lint", "-W", "warning", str(page))
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_every_command_and_option_is_there(self) -> None:
        text = shown("hakmem.1")
        for command in walk(command_tree()):
            self.assertIn(" ".join(("hakmem", *command.path)), text)
            for option in command.options:
                for name in option.names:
                    self.assertRegex(text, re.escape(name) + r"\b", command.path)
        self.assertRegex(text, r"EXAMPLES\n +\S")

    def test_every_function_of_the_headers_is_there(self) -> None:
        page = shown("hakmem.3")
        for name, least in (("hakmem.h", 20), ("experimental.h", 2)):
            text = (ROOT / "include/hakmem" / name).read_text(encoding="utf-8")
            declared = set(re.findall(r"^\w.*?\b(hak_\w+)\(", text, re.MULTILINE))
            self.assertGreaterEqual(len(declared), least)
            told = {one.name for part in header.sections(text) for entry in part.entries for one in entry.functions}
            self.assertEqual(told, declared)
            for function in declared:
                self.assertGreater(page.count(f"{function}("), 1, function)  # in the synopsis and in its own paragraph

    def test_every_setting_is_there(self) -> None:
        rows = re.findall(r"^SETTING\((\w+)", (ROOT / "src/tables/settings.def").read_text(encoding="utf-8"), re.MULTILINE)
        text = shown("hakmem-settings.7")
        for name in rows:
            self.assertIn(f"{name}, HAKMEM_{name.upper()}\n", text)


class Mdoc(unittest.TestCase):
    """Text that looks like a request, an escape or a macro stays text."""

    def read_back(self, body: str) -> str:
        with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
            head = mdoc.head("X", 1, ["x"], "y").replace("DATE", "January 1, 2026")
            file.write(f"{head}.Sh DESCRIPTION\n{body}\n")
            file.flush()
            return OVERSTRUCK.sub("", run("mandoc", "-T", "utf8", file.name).stdout)

    def test_text(self) -> None:
        for words in (".Sh no heading", "'br no break", r"a\fB and \n and \\", "x.hakt", '"quoted" words', "- a dash"):
            self.assertIn(words, self.read_back(mdoc.text(words)))

    def test_arguments(self) -> None:
        for words in ("Ar", "a b", 'say "so"', ".", "-x"):
            self.assertIn(words, self.read_back(f".Li {mdoc.argument(words)}"))

    def test_a_table_of_settings_with_bars_in_its_cells(self) -> None:
        self.assertEqual(settings_page.cells(r"| a | b \| c | |"), ["a", r"b \| c", ""])


if __name__ == "__main__":
    unittest.main()
