# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names of C++ functions as a line of a terminal has room for: long arguments of templates are left out.

    std::vector<std::unique_ptr<char [], ...>, ...>::push_back(...) -> std::vector<...>::push_back(...)
"""

from __future__ import annotations

import re

NAME_LONG, ARGUMENTS_LONG = 60, 24  # characters of a name that is shortened, and of what is left out between < and >
TOKENS = re.compile(r"operator(?:<=>|<<=?|>>=?|<=?|>=?|->\*?)|->|[<>]|[^<>o-]+|.", re.DOTALL)


def short_name(name: str) -> str:
    """As it is where it is short, or its brackets are no pairs."""
    if len(name) <= NAME_LONG:
        return name
    short, inner, depth = [], "", 0
    for token in TOKENS.findall(name):
        closes = token == ">"
        depth -= closes
        if depth < 0:
            return name
        if depth == 0 and closes:
            short.append(f"<{inner if len(inner) <= ARGUMENTS_LONG else '...'}>")
            inner = ""
        elif depth > 0:
            inner += token
        elif token != "<":
            short.append(token)
        depth += token == "<"
    return name if depth else "".join(short)
