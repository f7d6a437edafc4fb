# SPDX-License-Identifier: MIT OR Apache-2.0
"""scripts/site: the whole site, and small trees with what is wrong in them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "build/site/html"
sys.path[:0] = [str(ROOT / "scripts" / "site"), str(ROOT / "tests" / "page")]
import pages  # noqa: E402
from browser import Browser, found  # noqa: E402

PHONE = 390  # pixels

LOADED = re.compile(r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=\"?((?:https?:)?//[^\" >]*)")


def site(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "scripts/site.sh", *options], capture_output=True, text=True, check=False)


class Whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.done = site()

    def test_it_is_built_and_every_link_has_an_end(self) -> None:
        self.assertEqual(self.done.returncode, 0, self.done.stdout)
        self.assertRegex(self.done.stdout, r"^site: .*/index.html, \d+ pages\n$")

    def test_every_page_of_the_tree_is_there(self) -> None:
        made = pages.Pages(ROOT, HTML)
        for path in made.markdown():
            name = path.relative_to(ROOT).with_suffix(".html")
            self.assertTrue((HTML / (name.with_name("index.html") if path.name == "README.md" else name)).is_file(), name)

    def test_nothing_is_loaded_from_elsewhere(self) -> None:
        files = list(HTML.rglob("*.html"))
        self.assertGreater(len(files), 30)
        self.assertEqual({url for file in files for url in LOADED.findall(file.read_text(encoding="utf-8"))}, set())

    @unittest.skipUnless(found(), "no chromium")
    def test_no_page_for_users_is_wider_than_a_phone(self) -> None:
        browser = Browser()
        self.addCleanup(browser.close)
        wide = []
        for file in [HTML / "index.html", *sorted((HTML / "docs").rglob("*.html"))]:
            browser.open(file, PHONE, 844)
            if browser.value("document.documentElement.scrollWidth") > PHONE:
                wide.append(file.name)
        self.assertEqual(wide, [])

    def test_the_search_has_its_index(self) -> None:
        index = json.loads((HTML / "search/search_index.json").read_text(encoding="utf-8"))
        found_in = {entry["location"].partition("#")[0] for entry in index["docs"] if "HAKMEM_PRICE" in entry["text"]}
        self.assertIn("docs/design/how-it-works.html", found_in)
        self.assertFalse([name for name in found_in if name.endswith(".h.html")], "sources are not searched")

    def test_no_list_was_taken_for_text(self) -> None:
        for file in HTML.rglob("*.html"):
            without_code = re.sub(r"<pre.*?</pre>", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
            self.assertNotRegex(without_code, r"\n- ", file.name)


class Small(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        shutil.copytree(ROOT / "docs/site", self.root / "docs/site")
        (self.root / "docs/site/mkdocs.yml").write_text(
            re.sub(r"^nav:.*", "nav:\n  - It: README.md\n", (ROOT / "docs/site/mkdocs.yml").read_text(), flags=re.M | re.S))
        (self.root / "man").mkdir()
        (self.root / "src").mkdir()
        (self.root / "src/a.c").write_text("int a;\n")

    def built(self, text: str) -> tuple[int, str]:
        (self.root / "README.md").write_text(text)
        done = site("--root", str(self.root))
        return done.returncode, done.stdout if done.returncode else done.stderr

    def test_a_page_that_has_no_place_and_sources_and_folders_that_are_pointed_at(self) -> None:
        (self.root / "other.md").write_text("# Another page\n")
        self.assertEqual(self.built("# It\n\n[a](src/a.c), [all](src), [b](other.md#another-page)\n"), (0, ""))
        html = self.root / "build/site/html"
        self.assertIn("Another page", (html / "index.html").read_text())
        self.assertIn("int", (html / "src/a.c.html").read_text())
        self.assertIn("a.c", (html / "src/index.html").read_text())

    def test_a_link_without_an_end_stops_it(self) -> None:
        for link in ("none.md", "#none", "none/"):
            status, said = self.built(f"# It\n\n[a]({link})\n")
            self.assertEqual(status, 1, link)
            self.assertIn(f"'{link}'", said)


class Lists(unittest.TestCase):
    def test_they_are_settled(self) -> None:
        cases = {
            "text:\n- a\n- b\n": "text:\n\n- a\n- b\n",
            "- a\n  more\n- b\n": "- a\n    more\n- b\n",
            "- a\n\n      code\n- b\n": "- a\n\n        code\n\n- b\n",
            "- a\n\ntext\n\n    code\n": "- a\n\ntext\n\n    code\n",
        }
        for before, after in cases.items():
            self.assertEqual(pages.settled(before), after)


if __name__ == "__main__":
    unittest.main()
