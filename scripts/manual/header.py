# SPDX-License-Identifier: MIT OR Apache-2.0
"""A public header taken apart: its opening facts, and in sections each comment with the declarations that follow it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

PIECE = re.compile(r"/\*(?P<comment>.*?)\*/|(?P<define>^#define +HAK_.*?$)"
                   r"|(?P<struct>^struct \w+ \{.*?^\};)|(?P<function>^[a-z][\w *]*\w+\([^;{]*\);)"
                   r"|(?P<type>^typedef [^;{]+;)"
                   r"|(?P<variable>^extern [^;({\"]+(?:__attribute__[^;]*)?;)", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r"^ ---- (.+?) ---- $")
FUNCTION = re.compile(r"^(.*?)(\w+)\((.*)\);$", re.DOTALL)
FACT = re.compile(r"^ \* (what|owner|locks|orders|hot path|failure|not here) +(.*(?:\n \*   .*)*)", re.MULTILINE)


@dataclass(frozen=True)
class Function:
    type: str
    name: str
    arguments: tuple[str, ...]


@dataclass
class Entry:
    """A comment, and what it is about."""

    comment: str
    functions: list[Function] = field(default_factory=list)
    code: list[str] = field(default_factory=list)  # a struct, macros or a variable, as it stands there


@dataclass
class Section:
    title: str
    entries: list[Entry] = field(default_factory=list)


def plain(comment: str) -> str:
    return "\n".join(re.sub(r"^ ?\* ?", "", line.strip()) for line in comment.strip().splitlines())


def facts(text: str) -> dict[str, str]:
    opening = text[: text.index("#ifndef")]
    return {name: " ".join(re.sub(r"\n \*", " ", words).split()) for name, words in FACT.findall(opening)}


def function_of(declaration: str) -> Function:
    match = FUNCTION.match(" ".join(declaration.split()))
    assert match, declaration
    arguments = tuple(part.strip() for part in match[3].split(","))
    return Function(match[1].strip(), match[2], arguments)


def place(section: Section, match: re.Match[str]) -> None:
    entry = section.entries[-1] if section.entries else Entry("")
    if not section.entries:
        section.entries.append(entry)
    if match["function"]:
        entry.functions.append(function_of(match["function"]))
    else:
        entry.code += match.group(0).splitlines()


def sections(text: str) -> list[Section]:
    """Macros stand before the comment of the struct they are about: they are moved below it."""
    found = [Section("version")]
    inside = text[text.index('extern "C" {'): text.rindex("#ifdef __cplusplus")]
    waiting: list[re.Match[str]] = []
    for match in PIECE.finditer(inside):
        title = TITLE.match(match["comment"] or "")
        if title:
            found.append(Section(title[1]))
        elif match["comment"] is not None:
            found[-1].entries.append(Entry(plain(match["comment"])))
        elif match["define"]:
            waiting.append(match)
        else:
            for define in waiting:
                place(found[-1], define)
            waiting.clear()
            place(found[-1], match)
    return [section for section in found if section.entries]
