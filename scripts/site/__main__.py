# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the documentation site in build/site/html out of the tree's own pages; a link without an end stops it.

    make site                     (scripts/site.sh, which gets mkdocs-material first)

  build/site/pages    every Markdown page at its place, and what its pages point at: pictures and tables as they are,
                      sources as pages that show them, folders as lists; the manual pages by mandoc
  build/site/html     the site; it needs no server and loads nothing from elsewhere
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from pages import Pages



def named_in(nav: list[Any]) -> set[str]:
    found: set[str] = set()
    for entry in nav:
        for value in entry.values():
            found |= named_in(value) if isinstance(value, list) else {value}
    return found


def configuration(pages: Pages, build: Path) -> dict[str, Any]:
    """docs/site/mkdocs.yml, with folders, and with the pages that it does not name."""
    told: dict[str, Any] = yaml.safe_load((pages.root / "docs/site/mkdocs.yml").read_text(encoding="utf-8"))
    rest = sorted(set(pages.own) - named_in(told["nav"]))
    if rest:
        told["nav"].append({"More": [{pages.title(name): name} for name in rest]})
    return {**told, "docs_dir": str(build / "pages"), "site_dir": str(build / "html")}


def faults(configured: Path) -> list[str]:
    """What mkdocs finds; it must talk, as --quiet would keep it from counting."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--config-file", str(configured)]
    done = subprocess.run(command, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True,
                          check=False)
    found = [line for line in done.stderr.splitlines() if not line.startswith("INFO")]
    return (found or ["mkdocs ended without a word"]) if done.returncode else []


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the documentation site.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2], help="another tree")
    root = parser.parse_args().root
    build = root / "build" / "site"
    shutil.rmtree(build / "pages", ignore_errors=True)
    pages = Pages(root, build / "pages")
    pages.write()
    file = build / "mkdocs.yml"
    file.write_text(yaml.safe_dump(configuration(pages, build), sort_keys=False), encoding="utf-8")
    wrong = faults(file)
    print("\n".join(wrong) if wrong else f"site: {build / 'html' / 'index.html'}, {len(pages.own)} pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
