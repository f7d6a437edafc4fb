# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tree's Markdown as mkdocs wants it: copied to its place, with what its links lead to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

NOT_OURS = {".git", "build", "__pycache__"}
AS_THEY_ARE = {".svg", ".png", ".csv", ".json", ".css"}
CODE = re.compile(r"^```.*?^```|^(?: {4,}|\t).*?$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(\]\()([^()\s]+)(\))")
ITEM = re.compile(r"(?:[-*]|\d+[.]) ")
LANGUAGES = {".h": "c", ".c": "c", ".py": "python", ".sh": "bash", ".cff": "yaml", ".map": "text"}
RANKS = {"docs/guide/": "boost: 4", "docs/design/": "boost: 2", "lab/": "boost: 0.5"}  # in the site's search
HEADING = re.compile(r"^# +(.+)$", re.MULTILINE)
MAN_HEADING = re.compile(r"^(#+) ", re.MULTILINE)


def settled(text: str) -> str:
    """Lists as Python-Markdown wants them: an empty line before, and four blanks where two are enough for others."""
    out: list[str] = []
    in_list = has_parts = False
    for line in text.splitlines():
        after_text = bool(out and out[-1].strip())
        if ITEM.match(line):
            out += [""] if after_text and (has_parts or not in_list) else []
            in_list, has_parts = True, False
        elif in_list and line.startswith("  "):
            has_parts |= not after_text
            line = f"  {line}"
        elif line.strip() and not after_text:
            in_list = has_parts = False
        out.append(line)
    return "\n".join(out) + "\n"


def found_by(rank: str) -> str:
    """The head of a page that says how the search treats it."""
    return f"---\nsearch:\n  {rank}\n---\n\n"


class Pages:
    """`own` are the Markdown pages by their path in the tree; what links lead to is written as it is met."""

    def __init__(self, root: Path, out: Path) -> None:
        self.root = root
        self.out = out
        self.own: dict[str, str] = {}

    def write(self) -> None:
        for path in self.markdown():
            name = path.relative_to(self.root).as_posix()
            self.put(name, settled(self.linked(path)))
        for path in sorted((self.root / "man").iterdir()):
            self.put(f"man/{path.name}.md", self.manual(path))
        self.copy(self.root / "docs/site/extra.css")

    def markdown(self) -> list[Path]:
        found: list[Path] = []
        for folder, folders, files in os.walk(self.root):
            folders[:] = [name for name in folders if name not in NOT_OURS]
            found += [Path(folder) / name for name in files if name.endswith(".md")]
        return sorted(found)

    def title(self, name: str) -> str:
        found = HEADING.search(self.own[name])
        return found[1] if found else name

    def put(self, name: str, text: str) -> None:
        self.own[name] = text
        rank = next((rank for folder, rank in RANKS.items() if name.startswith(folder)), None)
        self.save(name, found_by(rank) + text if rank else text)

    def save(self, name: str, text: str) -> None:
        file = self.out / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def copy(self, path: Path) -> None:
        file = self.out / path.relative_to(self.root)
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, file)

    # ---- links ----

    def linked(self, page: Path) -> str:
        """The page, and each link outside of code to where the site has it."""
        text = page.read_text(encoding="utf-8")
        parts, end = [], 0
        for match in CODE.finditer(text):
            parts += [self.with_targets(page, text[end:match.start()]), match.group(0)]
            end = match.end()
        return "".join([*parts, self.with_targets(page, text[end:])])

    def with_targets(self, page: Path, text: str) -> str:
        return LINK.sub(lambda match: f"{match[1]}{self.target(page, match[2])}{match[3]}", text)

    def target(self, page: Path, link: str) -> str:
        """What the link is here. One without an end stays as it is, for mkdocs to stumble over."""
        name, mark, anchor = link.partition("#")
        path = Path(os.path.normpath(page.parent / name))
        if not name or re.match(r"[a-z]+:", link) or not path.exists() or not path.is_relative_to(self.root):
            return link
        return os.path.relpath(self.page_for(path), page.parent) + mark + anchor

    def page_for(self, path: Path) -> Path:
        """Where the site has it, as a path of the tree."""
        if path.suffix == ".md":
            return path
        if path.is_dir():
            return path / "README.md" if (path / "README.md").exists() else self.listing(path)
        if path.suffix in AS_THEY_ARE:
            self.copy(path)
            return path
        return self.shown(path)

    def shown(self, path: Path) -> Path:
        name = path.relative_to(self.root).as_posix()
        text = path.read_text(encoding="utf-8")
        language = LANGUAGES.get(path.suffix, "text")
        self.save(f"{name}.md", f"{found_by('exclude: true')}# {name}\n\n````{language}\n{text}````\n")
        return path.with_name(f"{path.name}.md")

    def listing(self, path: Path) -> Path:
        name = path.relative_to(self.root).as_posix()
        files = sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
        rows = "".join(f"| `{file.relative_to(path).as_posix()}` | {file.stat().st_size:,} |\n" for file in files)
        self.save(f"{name}/index.md", f"{found_by('exclude: true')}# {name}\n\n| file | bytes |\n|---|---:|\n{rows}")
        return path / "index.md"

    def manual(self, path: Path) -> str:
        text = subprocess.run(["mandoc", "-T", "markdown", path], capture_output=True, text=True, check=True).stdout
        body = text.partition("\n")[2].rpartition("\n\n")[0]  # without the lines above and below it
        return f"# {path.stem}({path.suffix[1:]})\n" + MAN_HEADING.sub(r"#\1 ", body) + "\n"
