# SPDX-License-Identifier: MIT OR Apache-2.0
"""hakmem(3): every function of hakmem.h and of experimental.h, as its comment tells it."""

from __future__ import annotations

import re

from header import Entry, Function, Section, facts, sections
from mdoc import argument, head, item, literal, tagged, text

FACTS = (("owner", "Ownership"), ("locks", "Threads"), ("orders", "Order"), ("failure", "Failure"))
INTRODUCTION = (
    "The malloc family needs no header of HAKMEM's: a program that is linked with `libhakmem.so`, or runs with it "
    "preloaded, gets its blocks from HAKMEM. The functions below are HAKMEM's own; the first group does what the "
    "standard ones do, for programs that are linked without overriding malloc (`libhakmem.a`, `libhakmem-dl.so`)."
)


def prototype(function: Function) -> str:
    arguments = " ".join(argument(one) for one in function.arguments)
    return f".Ft {argument(function.type)}\n.Fn {function.name} {arguments}\n"


def entry(one: Entry) -> str:
    names = " , ".join(f"Fn {function.name}" for function in one.functions)
    code = literal(one.code).rstrip("\n") if one.code else ""
    body = "\n.Pp\n".join(part for part in (text(one.comment), code) if part)
    body = body.replace(".Pp\n.Bd", ".Bd")
    return item(names, body) if names else item("Vt " + argument(title_of(one)), body)


def title_of(one: Entry) -> str:
    words = [line for line in one.code if line.startswith(("struct", "extern", "typedef"))]
    if not words:
        return "constants"
    name = re.search(r"\(\*(\w+)\)", words[0])
    return name[1] if name else words[0].split("{")[0].split("__attribute__")[0].replace("extern ", "").strip()


def functions_of(found: list[Section]) -> list[Function]:
    return [function for section in found for one in section.entries for function in one.functions]


def synopsis(name: str, found: list[Section]) -> str:
    return f".In hakmem/{name}\n{''.join(prototype(one) for one in functions_of(found))}"


def subsection(section: Section) -> str:
    title = section.title[0].upper() + section.title[1:]
    return f".Ss {title}\n{tagged([entry(one) for one in section.entries])}"


def page(promised: str, experimental: str) -> str:
    found, loose = sections(promised), sections(experimental)
    said = facts(promised)
    told = [item(argument(title), text(said[name])) for name, title in FACTS if name in said]
    return "".join((
        head("HAKMEM", 3, ["hakmem", *(function.name for function in functions_of(found + loose))],
             "the interface of the HAKMEM memory allocator"),
        ".Sh LIBRARY\nHAKMEM (libhakmem, \\-lhakmem)\n",
        f".Sh SYNOPSIS\n{synopsis('hakmem.h', found)}{synopsis('experimental.h', loose)}",
        f".Sh DESCRIPTION\n{text(INTRODUCTION)}\n{tagged(told)}",
        *(subsection(section) for section in found),
        f".Sh EXPERIMENTAL NAMES\n{text(facts(experimental)['what'])}\n",
        *(subsection(section) for section in loose),
        ".Sh SEE ALSO\n.Xr hakmem 1 ,\n.Xr malloc 3 ,\n.Xr malloc_usable_size 3 ,\n.Xr hakmem-settings 7\n",
    ))
