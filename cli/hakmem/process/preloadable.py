# SPDX-License-Identifier: MIT OR Apache-2.0
"""Why a program cannot be preloaded."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.executable import (
    ELF_64_BIT,
    ELF_HEADER_BYTES,
    ELF_MAGIC,
    MUSL,
    dynamic_linker,
    dynamic_names,
    executable_file,
    first_bytes,
    is_of_this_machine,
    loaded_file,
    machine_of,
    own_head,
)
from hakmem.process.places import (
    LIBRARY,
    find_folder,
    find_library,
    find_musl_library,
    glibc_version,
    library_name,
    name_of,
)

GLIBC, LINKER_BYTES = "ld-linux", 4 << 20
LIBCS = {False: "glibc", True: "musl"}
MUSL_LIBRARIES = (b"\0libc.so\0", b"\0libc.musl-")  # as musl names itself, and as Alpine does

# Sanitizers, by what the compiler has a program call, and by their libraries. (That of undefined behaviour has no malloc.)
SANITIZERS = {
    "__asan_init": "AddressSanitizer", "__hwasan_init": "HWAddressSanitizer", "__tsan_init": "ThreadSanitizer",
    "__msan_init": "MemorySanitizer", "__lsan_init": "LeakSanitizer",
}
SANITIZER_LIBRARIES = {
    "libasan": "AddressSanitizer", "libhwasan": "HWAddressSanitizer", "libtsan": "ThreadSanitizer", "liblsan": "LeakSanitizer",
    "libclang_rt.asan": "AddressSanitizer", "libclang_rt.hwasan": "HWAddressSanitizer", "libclang_rt.tsan": "ThreadSanitizer",
}
HOOK = "__sanitizer_malloc_hook"  # all that is told of one whose library is linked in, where its program calls nothing of it


def why_not_preloadable(path: Path, library: Path | None = None) -> str | None:
    """`path` is an ELF file, or something the kernel will not run (then the run itself will tell). `library` is preloaded;
    None: one for this interpreter's libc."""
    head = first_bytes(path, ELF_HEADER_BYTES)
    if gains_privileges(path):
        how = "setuid, setgid or capabilities of its file"
        return f"runs with other privileges than yours ({how}), so the dynamic linker ignores LD_PRELOAD"
    if len(head) < ELF_HEADER_BYTES or not head.startswith(ELF_MAGIC):
        return None
    if head[4] != ELF_64_BIT or not is_of_this_machine(head):
        other = f"{name_of(library or Path(LIBRARY))} ({machine_of(own_head())})"
        return f"is built for another kind of machine ({machine_of(head)}) than {other}"
    if library is not None and (machine := library_of_another_machine(library)):
        return f"is for {machine_of(head)}, and {library.name} for {machine}"
    linker = dynamic_linker(path, head)
    if linker is None:
        return "is linked statically, so there is no dynamic linker to preload anything"
    of_musl = is_for_musl(library) if library else glibc_version() is None
    return why_another_libc(is_musl(linker), of_musl, name_of(library or Path(LIBRARY)))


def library_of_another_machine(library: Path) -> str | None:
    """Its machine, where that is not this one: the dynamic linker would complain, and start the program without it."""
    head = first_bytes(library, ELF_HEADER_BYTES)
    if len(head) < ELF_HEADER_BYTES or not head.startswith(ELF_MAGIC):
        return None
    return None if head[4] == ELF_64_BIT and is_of_this_machine(head) else machine_of(head)


def why_another_libc(program_of_musl: bool, library_of_musl: bool, library: str) -> str | None:
    if program_of_musl == library_of_musl:
        return None
    return f"is linked with {LIBCS[program_of_musl]}, and {library} with {LIBCS[library_of_musl]}"


def is_musl(linker: str) -> bool:
    """By its name; by any other than glibc's, by what it says."""
    name = os.path.basename(linker)
    return name.startswith(MUSL) or (not name.startswith(GLIBC) and b"musl libc" in first_bytes(Path(linker), LINKER_BYTES))


def is_program_of_musl(path: Path) -> bool:
    head = first_bytes(path, ELF_HEADER_BYTES)
    is_whole = len(head) == ELF_HEADER_BYTES and head.startswith(ELF_MAGIC)
    linker = dynamic_linker(path, head) if is_whole and head[4] == ELF_64_BIT else None
    return linker is not None and is_musl(linker)


def is_for_musl(library: Path) -> bool:
    """By the name of the libc that it needs."""
    head = first_bytes(library, ELF_HEADER_BYTES)
    names = dynamic_names(library, head) if len(head) == ELF_HEADER_BYTES and head.startswith(ELF_MAGIC) else b""
    return any(name in names for name in MUSL_LIBRARIES)


def is_built_for_musl(build: Path | None) -> bool:
    """The library and the tools of that folder, as in a wheel for musl."""
    return is_for_musl(find_folder(build) / LIBRARY)


def library_for(command: str, build: Path | None, library: Path | None, secure: bool = False) -> Path:
    """The library that was named, or the one that was built for the libc of `command`."""
    name = library_name(library, secure)
    if library is None:
        path = loaded_file(executable_file(command))
        if is_program_of_musl(path) and not is_built_for_musl(build):
            return find_musl_library(build, f"{command}: {path.name}", name)
    return find_library(build, library, secure)


def gains_privileges(path: Path) -> bool:
    """Where the file system is mounted nosuid, nobody does."""
    facts = path.stat()
    by_user = bool(facts.st_mode & stat.S_ISUID) and facts.st_uid != os.geteuid()
    by_group = bool(facts.st_mode & stat.S_ISGID) and facts.st_gid != os.getegid()
    may = not os.statvfs(path).f_flag & os.ST_NOSUID
    return may and (by_user or by_group or (os.geteuid() != 0 and has_capabilities(path)))


def has_capabilities(path: Path) -> bool:
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def sanitizer_in(path: Path) -> str | None:
    """Which one the file itself is built with. The names of what it is bound to say so; where there are none, nothing is known."""
    head = first_bytes(path, ELF_HEADER_BYTES)
    names = dynamic_names(path, head) if len(head) == ELF_HEADER_BYTES and head.startswith(ELF_MAGIC) else b""
    marks = {f"\0{name}\0": who for name, who in SANITIZERS.items()} | {f"\0{name}.": who for name, who in SANITIZER_LIBRARIES.items()}
    marks[f"\0{HOOK}\0"] = "a sanitizer"
    return next((who for mark, who in marks.items() if mark.encode() in names), None)


def why_not_served(path: Path, library: Path | None = None) -> str | None:
    reason = why_not_preloadable(path, library)
    whose = None if reason else sanitizer_in(path)
    return f"is built with {whose}, which has a malloc of its own" if whose else reason


def refuse_unless_hakmem(library: Path) -> None:
    """Another file would be preloaded in vain, or end the program. pyelftools is read in here, as few runs name a library."""
    from hakmem.process.own_library import why_not_hakmem

    reason = why_not_hakmem(library)
    if reason:
        raise Refusal(f"--library {library}: no library of HAKMEM ({reason})")


def refuse_unless_served(command: str, library: Path | None = None) -> None:
    path = loaded_file(executable_file(command))
    reason = why_not_served(path, library)
    if reason:
        raise Refusal(f"{command}: {path.name} {reason}; HAKMEM cannot serve it")
