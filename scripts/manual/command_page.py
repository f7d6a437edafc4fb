# SPDX-License-Identifier: MIT OR Apache-2.0
"""hakmem(1): a section for each command, its options and exit statuses; the examples of docs/guide/watch-and-profile.md."""

from __future__ import annotations

import re

from commands import Argument, Command, Option, walk
from mdoc import argument, head, item, literal, paragraphs, tagged, text

EXAMPLE = re.compile(r"^    (hakmem .*?) +# (.*)$", re.MULTILINE)
INTRODUCTION = (
    "The command of the HAKMEM memory allocator. Each of its commands proves that the allocator which it tells of "
    "served the program: what is not proven is not reported. A wrong option or input ends in one line on standard "
    "error that begins with `hakmem:`."
)


def flags(option: Option) -> str:
    value = f" Ar {argument(option.metavar)}" if option.metavar else ""
    return " , ".join(f"Fl {argument(name[1:])}{value}" for name in option.names)


def body(option: Option) -> str:
    said = f" Default: {option.default}." if option.default and "Default" not in option.help else ""
    again = " May be given more than once." if option.many and "again" not in option.help else ""
    return text(option.help + said + again)


def synopsis(command: Command) -> str:
    words = "".join(f" Cm {name}" for name in command.path)
    arguments = "".join(f"\n{synopsis_of(one)}" for one in command.arguments)
    below = "\n.Op Ar command" if command.below and command.path else ""
    return f".Nm{words}\n.Op Ar options{arguments}{below}\n"


def synopsis_of(one: Argument) -> str:
    name = f"Ar {argument(one.metavar)}" + (" Ar ..." if one.many else "")
    return f".{name}" if one.required else f".Op {name}"


def section(command: Command) -> str:
    arguments = [item(f"Ar {argument(one.metavar)}", text(one.help)) for one in command.arguments if one.help]
    options = [item(flags(one), body(one)) for one in command.options[:-1]]  # all have --help
    status = f".Pp\n{text(command.epilog)}\n" if command.epilog else ""
    return (f".Ss hakmem {' '.join(command.path)}\n{synopsis(command)}.Pp\n{paragraphs(command.help)}\n"
            f"{tagged(arguments + options)}{status}")


def examples(guide: str, names: set[str]) -> str:
    """Those of the commands of these names."""
    said = [(line, what) for line, what in EXAMPLE.findall(guide) if line.split()[1] in names]
    found = [f"{text(f'{what[0].upper()}{what[1:]}:')}\n{literal([line])}" for line, what in said]
    return ".Pp\n".join(found)


def page(tree: Command, guide: str) -> str:
    commands = [command for command in walk(tree) if command.path]
    overview = [item(f"Cm {' '.join(one.path)}", text(one.summary + ".")) for one in commands]
    return "".join((
        head("HAKMEM", 1, ["hakmem"], "run programs on the HAKMEM memory allocator, and look into what it does"),
        ".Sh SYNOPSIS\n.Nm\n.Op Fl h | Fl \\-help | Fl \\-version\n.Ar command\n.Op Ar options\n.Op Ar arguments\n",
        f".Sh DESCRIPTION\n{text(INTRODUCTION)}\n.Pp\nThe commands are:\n{tagged(overview, 'decisions')}",
        ".Pp\nEvery command takes\n.Fl h\nand\n.Fl \\-help .\n",
        f".Sh COMMANDS\n{''.join(section(one) for one in commands)}",
        ".Sh ENVIRONMENT\nPrograms that are run on HAKMEM heed its settings, variables that begin with\n",
        ".Ev HAKMEM_ ;\nthey are listed in\n.Xr hakmem-settings 7 .\n",
        ".Sh EXIT STATUS\nEach command says which; 2 is always a wrong option or input.\n",
        f".Sh EXAMPLES\n{examples(guide, {one.path[0] for one in commands})}",
        ".Sh SEE ALSO\n.Xr hakmem 3 ,\n.Xr malloc 3 ,\n.Xr hakmem-settings 7 ,\n.Xr ld.so 8\n",
    ))
