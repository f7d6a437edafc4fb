# SPDX-License-Identifier: MIT OR Apache-2.0
"""hakmem-settings(7): docs/guide/settings.md, paragraph by paragraph; its tables become lists."""

from __future__ import annotations

import os
import re

from mdoc import argument, head, item, paragraphs, tagged, text

LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")
ROW = re.compile(r"(?<!\\)\|")
SETTINGS = ["setting", "default", "allowed", "when", "what"]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in ROW.split(line.strip().strip("|"))]


def setting(row: list[str]) -> str:
    name, default, allowed, when, what = row
    bare = name.strip("`")
    facts = f"Default: {default}. Allowed: {allowed}. " + ("At start only." if when == "start" else "At any time.")
    return item(f"Va {bare} , Ev HAKMEM_{bare.upper()}", f"{text(what)}\n.br\n{text(facts)}")


def plain_row(headings: list[str], row: list[str]) -> str:
    parts = [text(f"{heading}: {cell}") for heading, cell in zip(headings[1:], row[1:], strict=True)]
    return item(argument(row[0].replace("`", "")), "\n.br\n".join(parts))


def table(lines: list[str]) -> str:
    headings, rows = cells(lines[0]), [cells(line) for line in lines[2:]]
    if headings == SETTINGS:
        return f".Sh SETTINGS\n{tagged([setting(row) for row in rows])}.Sh NOTES\n"
    return tagged([plain_row(headings, row) for row in rows])


def bullets(block: str) -> str:
    found = re.split(r"^- ", block, flags=re.MULTILINE)[1:]
    return f".Bl -bullet\n{''.join(item('', text(one)).replace('.It ', '.It', 1) for one in found)}.El\n"


def block(words: str) -> str:
    if words.startswith("|"):
        return table(words.splitlines())
    if words.startswith("- "):
        return bullets(words)
    if words.startswith("## "):
        return f".Sh {words[3:].upper()}\n"
    return f"{paragraphs(words)}\n"


def in_tree(link: str) -> str:
    """A link of the page, as a path from the root of the sources."""
    return link if link.startswith("#") else os.path.normpath(f"docs/guide/{link}")


def page(markdown: str) -> str:
    without_links = LINK.sub(lambda link: f"{link[1]}, {in_tree(link[2])}", markdown.strip())
    blocks = re.split(r"\n\s*\n", without_links)[1:]  # without the title
    return "".join((
        head("HAKMEM-SETTINGS", 7, ["hakmem-settings"], "settings of the HAKMEM memory allocator"),
        ".Sh DESCRIPTION\n",
        "".join(separated([block(one) for one in blocks])),
        ".Sh SEE ALSO\n.Xr hakmem 1 ,\n.Xr hakmem 3\n",
    ))


def separated(parts: list[str]) -> list[str]:
    """Paragraphs that follow upon another are told apart."""
    return [part if part.startswith(".") or before.endswith((".Sh NOTES\n", ".Sh DESCRIPTION\n"))
            or before.startswith(".Sh") or n == 0 else f".Pp\n{part}"
            for n, (before, part) in enumerate(zip(["", *parts], parts, strict=False))]
