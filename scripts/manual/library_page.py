# SPDX-License-Identifier: MIT OR Apache-2.0
"""hakmem(3): every function of hakmem.h, as its comment tells it."""

from __future__ import annotations

from header import Entry, Function, facts, sections
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
    words = [line for line in one.code if line.startswith(("struct", "extern"))]
    return words[0].split("{")[0].split("__attribute__")[0].replace("extern ", "").strip() if words else "constants"


def page(text_of_header: str) -> str:
    found = sections(text_of_header)
    functions = [function for section in found for one in section.entries for function in one.functions]
    said = facts(text_of_header)
    told = [item(argument(title), text(said[name])) for name, title in FACTS if name in said]
    return "".join((
        head("HAKMEM", 3, ["hakmem", *(function.name for function in functions)],
             "the interface of the HAKMEM memory allocator"),
        ".Sh LIBRARY\nHAKMEM (libhakmem, \\-lhakmem)\n",
        f".Sh SYNOPSIS\n.In hakmem/hakmem.h\n{''.join(prototype(one) for one in functions)}",
        f".Sh DESCRIPTION\n{text(INTRODUCTION)}\n{tagged(told)}",
        *(f".Ss {section.title[0].upper()}{section.title[1:]}\n{tagged([entry(one) for one in section.entries])}"
          for section in found),
        ".Sh SEE ALSO\n.Xr hakmem 1 ,\n.Xr malloc 3 ,\n.Xr malloc_usable_size 3 ,\n.Xr hakmem-settings 7\n",
    ))
