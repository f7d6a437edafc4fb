"""The program to run: its command, its executable file, and why that cannot be preloaded."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

from hakmem import programs
from hakmem.errors import CANNOT_EXECUTE, NO_SUCH_COMMAND, Refusal

ELF_MAGIC = b"\x7fELF"
ELF_64_BIT = 2
PROGRAM_HEADER_INTERPRETER = 3
MAX_INTERPRETERS = 4


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


# ---- its executable file ----

def executable_file(command: str) -> Path:
    found = shutil.which(command)
    if found:
        return Path(found).resolve()
    if os.sep in command and os.path.exists(command):
        raise Refusal(f"{command}: cannot be executed", CANNOT_EXECUTE)
    raise Refusal(f"{command}: no such command", NO_SUCH_COMMAND)


def loaded_file(path: Path) -> Path:
    """The file the kernel loads: for a script, its interpreter."""
    for _ in range(MAX_INTERPRETERS):
        interpreter = script_interpreter(path)
        if interpreter is None:
            return path
        path = interpreter
    return path


def script_interpreter(path: Path) -> Path | None:
    head = first_bytes(path, 256)
    if not head.startswith(b"#!"):
        return None
    words = head[2:].split(b"\n")[0].split()
    interpreter = Path(os.fsdecode(words[0])) if words else None
    return interpreter.resolve() if interpreter and interpreter.is_file() else None


def first_bytes(path: Path, count: int) -> bytes:
    """Nothing for a file that may be executed but not read."""
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError:
        return b""


# ---- why it cannot be preloaded ----

def why_not_preloadable(path: Path) -> str | None:
    """`path` is an ELF file, or something the kernel will not run (then the run itself will tell)."""
    head = first_bytes(path, 64)
    if gains_privileges(path):
        return "runs with other privileges than yours (setuid), so the dynamic linker ignores LD_PRELOAD"
    if len(head) < 64 or not head.startswith(ELF_MAGIC):
        return None
    if head[4] != ELF_64_BIT or head[18:20] != first_bytes(Path(sys.executable).resolve(), 20)[18:20]:
        return "is built for another kind of machine than libhakmem.so"
    if not has_interpreter(path, head):
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


def has_interpreter(path: Path, head: bytes) -> bool:
    """Whether one of the program headers names a dynamic linker (64-bit ELF of this machine's byte order)."""
    (table,) = struct.unpack_from("=Q", head, 32)
    entry_bytes, entries = struct.unpack_from("=HH", head, 54)
    headers = first_bytes(path, table + entry_bytes * entries)[table:]
    kinds = [struct.unpack_from("=I", headers, at)[0] for at in range(0, len(headers) - 3, entry_bytes or 1)]
    return PROGRAM_HEADER_INTERPRETER in kinds


def refuse_unless_preloadable(program: Program) -> None:
    path = loaded_file(executable_file(program.argv[0]))
    reason = why_not_preloadable(path)
    if reason:
        raise Refusal(f"{program.argv[0]}: {path.name} {reason}; HAKMEM cannot serve it")
