# SPDX-License-Identifier: MIT OR Apache-2.0
"""The program to run, and why it cannot be preloaded."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from dataclasses import dataclass, field
from pathlib import Path

from hakmem import programs
from hakmem.errors import Refusal
from hakmem.executable import (
    ELF_64_BIT, ELF_HEADER_BYTES, ELF_MAGIC, dynamic_linker, executable_file, first_bytes, loaded_file,
)


@dataclass(frozen=True)
class Program:
    """A command, and environment variables that belong to it whatever it runs on."""

    argv: list[str]
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return os.path.basename(self.argv[0])

    def __str__(self) -> str:
        return " ".join([f"{name}={value}" for name, value in self.variables.items()] + [shlex.join(self.argv)])


def default_program() -> Program:
    """CPython on a JSON-heavy script, with every object allocated by malloc."""
    script = Path(programs.__file__).parent / "json_heavy.py"
    return Program([system_python(), str(script)], {"PYTHONMALLOC": "malloc"})


def system_python() -> str:
    """Debian's own when there is one: it needs nothing of the virtual environment this runs in."""
    debian = "/usr/bin/python3"
    return debian if os.access(debian, os.X_OK) else str(Path(sys.executable).resolve())


# ---- why it cannot be preloaded ----

def why_not_preloadable(path: Path) -> str | None:
    """`path` is an ELF file, or something the kernel will not run (then the run itself will tell)."""
    head = first_bytes(path, ELF_HEADER_BYTES)
    if gains_privileges(path):
        return "runs with other privileges than yours (setuid), so the dynamic linker ignores LD_PRELOAD"
    if len(head) < ELF_HEADER_BYTES or not head.startswith(ELF_MAGIC):
        return None
    if head[4] != ELF_64_BIT or head[18:20] != first_bytes(Path(sys.executable).resolve(), 20)[18:20]:
        return "is built for another kind of machine than libhakmem.so"
    if dynamic_linker(path, head) is None:
        return "is linked statically, so there is no dynamic linker to preload anything"
    return None


def gains_privileges(path: Path) -> bool:
    facts = path.stat()
    by_user = bool(facts.st_mode & stat.S_ISUID) and facts.st_uid != os.geteuid()
    by_group = bool(facts.st_mode & stat.S_ISGID) and facts.st_gid != os.getegid()
    return by_user or by_group or (os.geteuid() != 0 and has_capabilities(path))


def has_capabilities(path: Path) -> bool:
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def refuse_unless_preloadable(program: Program) -> None:
    path = loaded_file(executable_file(program.argv[0]))
    reason = why_not_preloadable(path)
    if reason:
        raise Refusal(f"{program.argv[0]}: {path.name} {reason}; HAKMEM cannot serve it")
