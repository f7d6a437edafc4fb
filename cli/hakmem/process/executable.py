# SPDX-License-Identifier: MIT OR Apache-2.0
"""The executable file of a command, and why the kernel would not run it: told before it is tried.

The kernel's own answer says little: "no such file" may mean the file, the interpreter of a script, or a program's
dynamic linker. And what is neither program nor script would be handed to a shell, which reads it as commands.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hakmem.base.errors import CANNOT_EXECUTE, NO_SUCH_COMMAND, Refusal

ELF_MAGIC, SCRIPT_MARK = b"\x7fELF", b"#!"
ELF_64_BIT = 2
ELF_HEADER_BYTES, PROGRAM_HEADER_BYTES = 64, 56
LITTLE_ENDIAN = 1
MACHINES = {2: "SPARC", 3: "x86", 8: "MIPS", 20: "PowerPC", 21: "PowerPC", 22: "s390", 40: "ARM", 43: "SPARC", 62: "x86-64",
            183: "AArch64", 243: "RISC-V", 258: "LoongArch"}
EXECUTABLE_KINDS = (2, 3)  # at a fixed place, and movable
MUSL = "ld-musl"  # how the name of its dynamic linker begins
LOADED, DYNAMIC, INTERPRETER = 1, 2, 3  # kinds of program headers: bytes of memory, its dynamic table, its dynamic linker's name
NAMES_AT, NAMES_BYTES = 5, 10  # entries of the dynamic table
HEAD_BYTES = 256  # as much as the kernel looks at
MAX_INTERPRETERS = 4
SHELL = "/bin/sh"  # reads a text that begins with no #!
NOT_REGULAR = "it is not a regular file"
FURTHER_FORMATS = Path("/proc/sys/fs/binfmt_misc")


class Problem(NamedTuple):
    text: str
    status: int


WRONG_FORMAT = Problem("neither a program nor a script (Exec format error)", CANNOT_EXECUTE)


def found_file(command: str) -> Path:
    """As a shell finds it."""
    found = shutil.which(command) if command else None
    if found is None:
        raise refusal(command, *why_not_found(command))
    return Path(found)


def executable_file(command: str) -> Path:
    """With links followed. Refuses what cannot be executed, and says why."""
    found = found_file(command)
    problem = why_not_run(found) or next(filter(None, map(why_not_run, interpreters_of(found))), None)
    if problem:
        raise refusal(command, f"cannot be executed: {problem.text}", problem.status)
    return Path(os.path.realpath(found))


def refusal(command: str, text: str, status: int) -> Refusal:
    return Refusal(f"{command or repr(command)}: {text}", status)


def loaded_file(path: Path) -> Path:
    """The file the kernel loads: for a script, its interpreter."""
    return [path, *interpreters_of(path)][-1]


# ---- what is not there, or may not be executed ----

def why_not_found(command: str) -> Problem:
    if os.sep in command:
        problem = why_not_executable(command)
        cannot = "cannot be executed: " if problem.status == CANNOT_EXECUTE else ""
        return Problem(cannot + problem.text, problem.status)
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    paths = [os.path.join(folder, command) for folder in folders if folder]
    forbidden = next(filter(os.path.isfile, paths), None)
    if forbidden:
        problem = why_not_executable(forbidden)
        return Problem(f"{forbidden} cannot be executed: {problem.text}", problem.status)
    here = f" (the one in this folder is ./{command})" if os.path.isfile(command) else ""
    return Problem(f"no such command{here}", NO_SUCH_COMMAND)


def why_not_executable(path: str) -> Problem:
    try:
        return Problem(why_forbidden(path, os.stat(path)), CANNOT_EXECUTE)
    except OSError as failure:
        absent = failure.errno in (errno.ENOENT, errno.ENOTDIR)
        return Problem(why_absent(path, failure), NO_SUCH_COMMAND if absent else CANNOT_EXECUTE)


def why_absent(path: str, failure: OSError) -> str:
    if failure.errno == errno.ENOENT and os.path.islink(path):
        return f"a link to {os.readlink(path)}, which does not exist"
    parents = [str(parent) for parent in reversed(Path(path).parents)]
    if failure.errno == errno.ENOENT:
        absent = next((parent for parent in parents if not os.path.exists(parent)), None)
        return f"no such file: there is no folder {absent}" if absent else "no such file"
    if failure.errno == errno.ENOTDIR:
        blocking = next((parent for parent in parents if not os.path.isdir(parent)), path)
        return f"no such file: {blocking} is not a folder"
    if failure.errno == errno.EACCES:
        closed = next((parent for parent in parents if not os.access(parent, os.X_OK)), "its folder")
        return f"no permission to look into {closed}"
    return (failure.strerror or str(failure)).lower()


def why_forbidden(path: str, facts: os.stat_result) -> str:
    if stat.S_ISDIR(facts.st_mode):
        return "it is a folder"
    if not stat.S_ISREG(facts.st_mode):
        return NOT_REGULAR
    if os.statvfs(path).f_flag & os.ST_NOEXEC:
        return "no permission, as its file system is mounted noexec"
    return f"no permission ({stat.filemode(facts.st_mode)})"


# ---- what the kernel would not run ----

def why_not_run(path: Path) -> Problem | None:
    """None also for a file that may not be read: then the run itself will tell."""
    if not path.is_file():
        return Problem(NOT_REGULAR, CANNOT_EXECUTE)
    head = first_bytes(path, HEAD_BYTES)
    if head.startswith(SCRIPT_MARK):
        name = interpreter_named(head)
        return why_no_interpreter("interpreter", name) if name else None
    if head.startswith(ELF_MAGIC):
        return why_no_program(path, head)
    is_text = b"\0" not in head.partition(b"\n")[0]
    return None if is_text or further_formats() else WRONG_FORMAT


def why_no_program(path: Path, head: bytes) -> Problem | None:
    """Of another machine, it is not looked into; nor is another libc's looked for."""
    if len(head) < ELF_HEADER_BYTES:
        return WRONG_FORMAT
    if head[4] != ELF_64_BIT or not is_of_this_machine(head):
        return None
    (kind,) = struct.unpack_from("=H", head, 16)
    if kind not in EXECUTABLE_KINDS or not any(program_headers(path, head)):
        return WRONG_FORMAT
    linker = dynamic_linker(path, head)
    is_ours = linker is not None and not os.path.basename(linker).startswith(MUSL)
    return why_no_interpreter("dynamic linker", linker) if linker and is_ours else None


def own_head() -> bytes:
    return first_bytes(Path(os.path.realpath(sys.executable)), ELF_HEADER_BYTES)


def is_of_this_machine(head: bytes) -> bool:
    own = own_head()
    return (head[5:6], head[18:20]) == (own[5:6], own[18:20])


def machine_of(head: bytes) -> str:
    """As "AArch64, 64-bit" or "s390, 64-bit, big-endian". `head`: ELF_HEADER_BYTES of an ELF file."""
    little = head[5] == LITTLE_ENDIAN
    (number,) = struct.unpack_from("<H" if little else ">H", head, 18)
    bits = "64-bit" if head[4] == ELF_64_BIT else "32-bit"
    return f"{MACHINES.get(number, f'machine {number}')}, {bits}{'' if little else ', big-endian'}"


def why_no_interpreter(what: str, name: str) -> Problem | None:
    if os.path.isfile(name) and os.access(name, os.X_OK):
        return None
    problem = why_not_executable(name)
    windows = ", as its lines end as on Windows" if name.endswith("\r") else ""
    return Problem(f"its {what} {name!r}: {problem.text}{windows}", problem.status)


def further_formats() -> bool:
    """Whether the system may know how to run what is neither ELF nor script."""
    try:
        return any(entry.name not in ("register", "status") for entry in FURTHER_FORMATS.iterdir())
    except OSError:
        return False


# ---- scripts ----

def interpreters_of(path: Path) -> Iterator[Path]:
    """The interpreter of a script, that one's own, and so on, as far as they exist."""
    for _ in range(MAX_INTERPRETERS):
        name = interpreter_named(first_bytes(path, HEAD_BYTES))
        if name is None or not os.path.isfile(name):
            return
        path = Path(os.path.realpath(name))
        yield path


def interpreter_named(head: bytes) -> str | None:
    """Blanks and tabs end it, other white space is part of it."""
    if not head.startswith(SCRIPT_MARK):
        return None
    words = head[len(SCRIPT_MARK):].partition(b"\n")[0].replace(b"\t", b" ").strip(b" ").split(b" ")
    return os.fsdecode(words[0]) or None


# ---- ELF ----

def program_headers(path: Path, head: bytes) -> Iterator[bytes]:
    """Nothing where they are not whole (64-bit ELF of this machine's byte order)."""
    (table,) = struct.unpack_from("=Q", head, 32)
    entry_bytes, entries = struct.unpack_from("=HH", head, 54)
    headers = first_bytes(path, entry_bytes * entries, table)
    if entry_bytes == PROGRAM_HEADER_BYTES and len(headers) == entry_bytes * entries:
        for at in range(0, len(headers), entry_bytes):
            yield headers[at : at + entry_bytes]


def dynamic_linker(path: Path, head: bytes) -> str | None:
    """None for a program that is linked statically."""
    for header in program_headers(path, head):
        (kind,) = struct.unpack_from("=I", header, 0)
        offset, _address, _physical, name_bytes = struct.unpack_from("=QQQQ", header, 8)
        if kind == INTERPRETER:
            return os.fsdecode(first_bytes(path, name_bytes, offset).partition(b"\0")[0])
    return None


def dynamic_names(path: Path, head: bytes) -> bytes:
    """The names of libraries and symbols by which it is bound to others, each with zero bytes around."""
    headers = [struct.unpack_from("=IIQQQQ", header) for header in program_headers(path, head)]
    table = b"".join(first_bytes(path, size, offset) for kind, _, offset, _, _, size in headers if kind == DYNAMIC)
    entries = dict(struct.iter_unpack("=QQ", table[: len(table) // 16 * 16]))
    address, size = entries.get(NAMES_AT, 0), entries.get(NAMES_BYTES, 0)
    places = (address - start + offset for kind, _, offset, start, _, length in headers
              if kind == LOADED and start <= address < start + length)
    return b"".join(first_bytes(path, size, place) for place in places)


def first_bytes(path: Path, count: int, offset: int = 0) -> bytes:
    """As many as there are; nothing for a file that may be executed but not read."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if offset >= size:
                return b""
            file.seek(offset)
            return file.read(min(count, size - offset))
    except OSError:
        return b""
