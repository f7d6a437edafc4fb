# SPDX-License-Identifier: MIT OR Apache-2.0
"""Questions about a program, answered without running it: files are read, and the dynamic linker is asked for its list."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.doctor.finding import Finding, State
from hakmem.doctor.symbols import Symbols, symbols_of, words_in
from hakmem.process.executable import (
    ELF_HEADER_BYTES,
    ELF_MAGIC,
    HEAD_BYTES,
    SHELL,
    dynamic_linker,
    executable_file,
    first_bytes,
    found_file,
    loaded_file,
)
from hakmem.process.places import SECURE_LIBRARY, name_of
from hakmem.process.preloadable import SANITIZER_LIBRARIES, SANITIZERS, is_for_musl, why_not_preloadable

# The names by which a program is served. One that the executable itself defines wins over every preloaded library.
SERVED_BY = ("malloc", "free", "calloc", "realloc", "_Znwm", "_ZdlPv")
# The same behind a prefix: an allocator that was built in under names of its own.
RENAMED = {
    "je_malloc": "jemalloc", "_rjem_malloc": "jemalloc", "mi_malloc": "mimalloc", "tc_malloc": "tcmalloc",
    "rpmalloc": "rpmalloc", "sn_malloc": "snmalloc", "TCMallocInternalMalloc": "google-tcmalloc",
    "scalable_malloc": "tbbmalloc",
}
# HAKMEM itself, linked into it: by a name, or where there are none by its note.
OWN_COPY, OWN_NOTE = "hak_malloc", "HAKMEM"
MUSL_LIBRARY = "libc.musl-"
# What only one allocator knows, asked beside malloc: it answers for memory that it does not have.
STRAY = {
    "mallctl": "jemalloc", "mallctlbymib": "jemalloc", "malloc_stats_print": "jemalloc", "mallocx": "jemalloc",
    "je_mallctl": "jemalloc", "MallocExtension_ReleaseFreeMemory": "tcmalloc", "mi_stats_print": "mimalloc",
}
OPENS = ("dlopen", "dlmopen")
LIBRARIES = {"libjemalloc": "jemalloc", "libtcmalloc": "tcmalloc", "libmimalloc": "mimalloc", "libtbbmalloc": "tbbmalloc"}
# Messages of allocators in files without names; and the mark of Go's runtime, whose heap is its own.
MESSAGES = {b"<jemalloc>": "jemalloc", b"mimalloc: ": "mimalloc", b"SCUDO_OPTIONS": "scudo"}
GO = (b"Go build ID:", b"\xff Go buildinf:")
LIBC_MALLOC = b"free(): invalid pointer"  # what glibc's says, also in a file without names
SERVED_MACHINES = "64-bit, little-endian x86-64 and AArch64"
NAMES = (*SERVED_BY, *RENAMED, *STRAY, *OPENS, *SANITIZERS, OWN_COPY)
LIST_SECONDS = 60
MISSING = re.compile(r"error while loading shared libraries: (\S+): cannot open shared object file")


# ---- whether it is served ----

def served(command: str, library: Path) -> tuple[Finding, Path | None]:
    """The file that is loaded, where it can be looked into."""
    try:
        path = program_file(command)
    except Refusal as refusal:
        return Finding("program", State.UNSERVED, str(refusal), "it cannot be run at all", "give a program that runs"), None
    reason = why_not_preloadable(path, library)
    if reason is None:
        means = "dynamic, for this machine and libc, with your rights"
        return Finding("program", State.WELL, str(path), means), path
    if "statically" in reason:
        return static(path, reason, library), None
    means = f"{name_of(library)} never gets into it"
    return Finding("program", State.UNSERVED, f"{path.name} {reason}", means, advice(reason, library)), None


def static(path: Path, reason: str, library: Path) -> Finding:
    """What there is to be served in it, which nothing can be preloaded into."""
    symbols = symbols_of(path, NAMES)
    if symbols is not None and holds_hakmem(symbols):
        return own_copy(path, symbols, library)
    if is_go(path):
        found = f"{path.name} is a Go program without C parts, linked statically"
        return Finding("program", State.UNSERVED, found, "Go's heap is its runtime's own; nothing in it calls malloc")
    if symbols is not None and not symbols.stripped and "malloc" not in symbols.defined | symbols.hidden:
        found = f"{path.name} is linked statically and has no malloc"
        return Finding("program", State.UNSERVED, found, "there is nothing in it that HAKMEM could serve")
    means = f"{name_of(library)} never gets into it"
    if not words_in(path, [LIBC_MALLOC]):
        found = f"{path.name} is linked statically, and has no malloc of glibc's"
        change = f"if it calls malloc: {advice(reason, library)}; for musl, `make musl` builds both libraries"
        return Finding("program", State.UNSERVED, found, means, change)
    return Finding("program", State.UNSERVED, f"{path.name} {reason}", means, advice(reason, library))


def program_file(command: str) -> Path:
    """For a script its interpreter; that of `#!/usr/bin/env NAME` is NAME."""
    file = executable_file(command)
    path = loaded_file(file)
    if path == file and is_text(file):
        return Path(os.path.realpath(SHELL))
    if path.name == "env" and path != file:
        words = first_bytes(file, HEAD_BYTES).partition(b"\n")[0].split()[1:]
        name = next((os.fsdecode(word) for word in words if not word.startswith(b"-") and b"=" not in word), None)
        return path if name is None else loaded_file(executable_file(name))
    return found_file(command) if path == file else path


def is_text(file: Path) -> bool:
    """One that begins with no #!, for the shell."""
    head = first_bytes(file, HEAD_BYTES)
    return bool(head) and not head.startswith(ELF_MAGIC) and b"\0" not in head.partition(b"\n")[0]


def script(command: str, path: Path) -> Iterator[Finding]:
    """What the answers are about, where that is another file than was asked for."""
    file = executable_file(command)
    if file != Path(os.path.realpath(path)):
        yield Finding(
            "script", State.NOTE, f"{file} is run by {path}", "the answers are about that; what the script runs, as a shim "
            "does, is a program of its own, and served alike where it can be", "hakmem doctor takes that program, too",
        )


def has_archive(library: Path) -> bool:
    """The secure flavour is a shared library alone."""
    return name_of(library) != SECURE_LIBRARY


def advice(reason: str, library: Path) -> str:
    if "statically" in reason and not has_archive(library):
        return f"link it dynamically: there is no {name_of(library).removesuffix('.so')} to link statically"
    if "statically" in reason:
        return "link it with libhakmem-override.a (hakmem path --flavour override), or dynamically"
    if "musl" in reason:
        return f"give the {name_of(library)} of its libc: `make musl` builds one for musl; or run a build of it for glibc"
    if "another kind of machine" in reason:
        return f"run a build of it for this machine; HAKMEM is for {SERVED_MACHINES} alone, a build for each"
    if " for " in reason:
        return f"give the {name_of(library)} of this machine"
    return "run a copy without these bits, as the user that it becomes"


# ---- what is in its file ----

def is_go(path: Path) -> bool:
    return bool(words_in(path, GO))


def holds_hakmem(symbols: Symbols) -> bool:
    return OWN_COPY in symbols.defined | symbols.hidden or OWN_NOTE in symbols.notes


def own_copy(path: Path, symbols: Symbols, library: Path) -> Finding:
    """Linked with libhakmem-override.a, or by its own names, as a Rust program with the crate."""
    found = f"{path.name} has HAKMEM built in"
    if "malloc" in symbols.defined | symbols.hidden:
        return Finding("own HAKMEM", State.WELL, found, f"its malloc is that copy's, also without {name_of(library)}")
    return Finding(
        "own HAKMEM", State.WELL, found, "what asks that copy by name (Rust's global allocator, hak_malloc) is served by it, "
        f"and what calls malloc by a {name_of(library)} that is preloaded"
    )


def sanitizer_of(symbols: Symbols) -> str | None:
    names = symbols.defined | symbols.hidden | symbols.wanted
    by_name = (who for name, who in SANITIZERS.items() if name in names)
    return next(by_name, None) or sanitizer_among(symbols.needed)


def sanitizer_among(libraries: Iterable[str]) -> str | None:
    names = list(libraries)
    found = (who for start, who in SANITIZER_LIBRARIES.items() if any(name.startswith(start) for name in names))
    return next(found, None)


def sanitizer(what: str, who: str) -> Finding:
    return Finding(
        "sanitizer", State.UNSERVED, f"{what} is built with {who}", "it has a malloc of its own, by which it finds errors, "
        "and does not start, or sees nothing, behind another one", "run it without HAKMEM; or HAKMEM with a build of it "
        "without -fsanitize",
    )


def own_malloc(path: Path, symbols: Symbols, library: Path) -> Iterator[Finding]:
    own = [name for name in SERVED_BY if name in symbols.defined]
    if own:
        yield Finding(
            "own malloc", State.UNSERVED, f"{path.name} defines {', '.join(own)}",
            "its own definition stands before every preloaded one", "build it without its allocator"
            + (", or with libhakmem-override.a for it" if has_archive(library) else ""),
        )


def built_in(path: Path, symbols: Symbols) -> Iterator[Finding]:
    """Under other names, whether they are to be seen or only their messages are left."""
    names = sorted(name for name in RENAMED if name in symbols.defined | symbols.hidden)
    messages = {} if names else {text: MESSAGES[text] for text in words_in(path, MESSAGES)}
    who = sorted({RENAMED[name] for name in names} | set(messages.values()))
    if who:
        seen = names or [text.decode().strip(" :") for text in messages]
        yield Finding(
            "built-in allocator", State.UNSERVED, f"{path.name} holds {' and '.join(who)} ({', '.join(seen)})",
            "what it asks of that under another name than malloc never comes to HAKMEM",
            f"build it with malloc of libc (as MALLOC=libc, or without its {who[0]} feature)",
        )
    if is_go(path):
        yield Finding(
            "built-in allocator", State.UNSERVED, f"{path.name} is a Go program", "Go's heap is its runtime's own; only its "
            "C parts (cgo) call malloc, and would be served", "",
        )


def stray(path: Path, symbols: Symbols) -> Iterator[Finding]:
    names = sorted(name for name in STRAY if name in symbols.wanted)
    if names:
        who = STRAY[names[0]]
        yield Finding(
            f"stray {names[0]}", State.CHANGE, f"{path.name} calls {', '.join(names)} of {who}",
            f"malloc is served by HAKMEM, but these ask {who}, which holds nothing: what it tells of memory (INFO, "
            "statistics, defragmentation) is wrong", f"switch off what uses it, or build it without {who}",
        )


def opens(symbols: Symbols, libraries: list[str]) -> Iterator[Finding]:
    """Whether a flag of dlopen keeps a library from malloc: HAKMEM drops it, unless it is told not to."""
    keeps = os.environ.get("HAKMEM_DEEPBIND", "").lower() in ("1", "on", "true")
    if "dlopen" in symbols.wanted and keeps:
        yield Finding(
            "RTLD_DEEPBIND", State.CHANGE, "HAKMEM_DEEPBIND is on, and the program opens libraries",
            "one that it opens with RTLD_DEEPBIND calls libc's malloc, and may free what is HAKMEM's",
            "unset HAKMEM_DEEPBIND",
        )
    elif "dlopen" in symbols.wanted:
        yield Finding(
            "RTLD_DEEPBIND", State.WELL, "it opens libraries; HAKMEM drops the flag", "they are served like all others"
        )
    if "dlmopen" in symbols.wanted:
        yield Finding("dlmopen", State.NOTE, "it may open namespaces", "each has a libc and a malloc of its own")
    loaded = sorted(who for name, who in LIBRARIES.items() if any(name in each for each in libraries))
    if loaded:
        yield Finding(
            "other allocators", State.NOTE, f"linked with {', '.join(loaded)}", "loaded behind HAKMEM, which serves; its "
            "pages cost some memory"
        )


def python(path: Path) -> Iterator[Finding]:
    if path.name.startswith("python") and os.environ.get("PYTHONMALLOC", "").removesuffix("_debug") != "malloc":
        yield Finding(
            "PYTHONMALLOC", State.NOTE, "objects up to 512 bytes come from CPython's own pools", "HAKMEM serves all that is "
            "larger", "PYTHONMALLOC=malloc has it serve them, too",
        )


# ---- what it is linked with ----

def loader_list(path: Path, library: Path) -> tuple[list[str], str]:
    """As the dynamic linker would load them, without running anything of the program; and what it complains of."""
    linker = dynamic_linker(path, first_bytes(path, ELF_HEADER_BYTES))
    if linker is None:
        return [], "no dynamic linker"
    kept = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    command = [linker, "--preload", str(library), "--list", str(path.resolve())]
    try:
        ended = subprocess.run(command, env=kept, capture_output=True, text=True, errors="surrogateescape",
                               timeout=LIST_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as failure:
        return [], str(failure)
    rows = map(str.split, ended.stdout.splitlines())
    paths = [words[words.index("=>") + 1] if "=>" in words else words[0] for words in rows]
    return paths, "" if ended.returncode == 0 else ended.stderr.strip() or f"status {ended.returncode}"


def install(trouble: str, library: Path) -> str:
    """What to do about what the dynamic linker complains of."""
    name = MISSING.search(trouble)
    if name is None:
        own = name_of(library)
        return f"have that mended: the program does not start without HAKMEM either, or {own} is not for this machine"
    return f"install {name[1]}" + ("" if "/" in name[1] else ", or name its folder in LD_LIBRARY_PATH")


def linked(path: Path, library: Path) -> Iterator[Finding]:
    libraries, trouble = loader_list(path, library)
    missing = trouble or ("" if str(library) in libraries else f"{library} is not in its list")
    if missing:
        yield Finding(
            "dynamic linker", State.UNSERVED, " ".join(missing.split()), f"the program or {name_of(library)} is not loaded",
            install(missing, library),
        )
        return
    whose = sanitizer_among(Path(each).name for each in libraries)
    if whose is not None:
        yield sanitizer(f"a library of {path.name}", whose)
        return
    found = f"loads {name_of(library)} before {len(libraries) - 1} more"
    yield Finding("dynamic linker", State.WELL, found, "its malloc is found before theirs")
    symbols = symbols_of(path, NAMES)
    if symbols is not None and not is_for_musl(library):  # musl has neither flag nor namespaces
        yield from opens(symbols, libraries)
    for each in libraries:
        if each.startswith("/") and each != str(library) and not any(name in each for name in LIBRARIES):
            of = symbols_of(Path(each), [*RENAMED, *STRAY])
            if of is not None:
                yield from (found._replace(state=State.CHANGE) for found in built_in(Path(each), of))
                yield from stray(Path(each), of)


def findings(command: str, library: Path) -> Iterator[Finding]:
    first, path = served(command, library)
    yield first
    if path is None:
        return
    yield from script(command, path)
    symbols = symbols_of(path, NAMES)
    if symbols is None:
        text = f"{path} cannot be looked into"
        yield Finding("program", State.NOTE, text, "whether it has a malloc of its own is not known")
        return
    if any(name.startswith(MUSL_LIBRARY) for name in symbols.needed) and not is_for_musl(library):
        found = f"{path.name} is linked with musl, and {name_of(library)} with glibc"
        yield Finding("program", State.UNSERVED, found, f"{name_of(library)} never gets into it", advice(found, library))
        return
    if (who := sanitizer_of(symbols)) is not None:
        yield sanitizer(path.name, who)
        return
    if holds_hakmem(symbols):
        yield own_copy(path, symbols, library)
        if "malloc" in symbols.defined | symbols.hidden:  # found before that of any library
            return
    else:
        yield from own_malloc(path, symbols, library)
    yield from built_in(path, symbols)
    yield from stray(path, symbols)
    yield from linked(path, library)
    yield from python(path)
