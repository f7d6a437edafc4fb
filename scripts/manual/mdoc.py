# SPDX-License-Identifier: MIT OR Apache-2.0
"""Text as mdoc(7), the language of manual pages: escaped, a sentence a line, Markdown's code in bold."""

from __future__ import annotations

import re

MADE = '.\\" Made by scripts/manual: not to be edited.'
LICENCE = '.\\" SPDX-License-Identifier: MIT OR Apache-2.0'
SENTENCE = re.compile(r"(?<=[.!?])(?<!\.\.\.) +(?=[^a-z\s])")
CODE = re.compile(r"`([^`]*)`")
WIDTH = 78


def escape(text: str) -> str:
    """No character of it means anything."""
    return text.replace("\\", "\\e").replace("-", "\\-") if text.startswith("-") else text.replace("\\", "\\e")


def argument(text: str) -> str:
    """One argument of a macro: never a macro itself, and in one piece."""
    return '"' + escape(text).replace('"', '\\(dq') + '"' if re.search(r'[\s"]', text) else "\\&" + escape(text)


def marked(text: str) -> str:
    """A line's code is bold; Markdown's own escapes go."""
    text = re.sub(r"\\([<*_|])", r"\1", text).replace("**", "")
    parts = CODE.split(text)
    return "".join(f"\\fB{escape(part)}\\fP" if n % 2 else escape(part) for n, part in enumerate(parts))


def guarded(line: str) -> str:
    """A text line that begins like a request is none."""
    return "\\&" + line if line.startswith((".", "'")) else line


def folded(sentence: str) -> list[str]:
    lines, line = [], ""
    for word in sentence.split():
        if line and len(line) + len(word) >= WIDTH:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines


def text(words: str) -> str:
    """A paragraph."""
    sentences = SENTENCE.split(" ".join(words.split()))
    return "\n".join(guarded(line) for sentence in sentences for line in folded(marked(sentence)))


def paragraphs(words: str) -> str:
    return "\n.Pp\n".join(text(paragraph) for paragraph in re.split(r"\n\s*\n", words.strip()))


def head(title: str, section: int, names: list[str], what: str) -> str:
    """`names` are all that the page is about; date and version are put in later."""
    listed = " ,\n".join(f".Nm {one}" for one in names)
    return (f"{LICENCE}\n{MADE}\n.Dd DATE\n.Dt {title} {section}\n.Os HAKMEM VERSION\n"
            f".Sh NAME\n{listed}\n.Nd {what}\n")


def item(macros: str, body: str) -> str:
    return f".It {macros}\n{body}\n"


def tagged(items: list[str], width: str = "Ds") -> str:
    return f".Bl -tag -width {width}\n{''.join(items)}.El\n" if items else ""


def literal(lines: list[str]) -> str:
    body = "\n".join(guarded(escape(line)) for line in lines)
    return f".Bd -literal -offset indent\n{body}\n.Ed\n"
