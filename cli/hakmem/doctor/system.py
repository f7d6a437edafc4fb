# SPDX-License-Identifier: MIT OR Apache-2.0
"""Questions about the kernel, the limits and the environment of this process, which the program would inherit."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from hakmem.base.scratch import scratch_folder
from hakmem.doctor import groups
from hakmem.doctor.finding import Finding, State
from hakmem.process.executable import machine_of, own_head
from hakmem.process.places import SECURE_LIBRARY, Places, glibc_version
from hakmem.process.preload import callers_preloads, is_allocator
from hakmem.process.preloadable import is_for_musl, is_program_of_musl
from hakmem.process.proof import read_records

USUAL_MAPPINGS = 65530  # the kernel's default of vm.max_map_count
ROOM_SHARE = 16  # with less room than that part of a limit HAKMEM gives everything free back (retain/memory_limit.c)
SMALL_PROGRAM = "/bin/true"
HUGE = 2 << 20
THP = "/sys/kernel/mm/transparent_hugepage"


def text_of(file: str) -> str | None:
    try:
        return Path(file).read_text("utf-8", "replace").strip()
    except OSError:
        return None


def size(number: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


def memory_facts() -> dict[str, int]:
    """In bytes."""
    rows = [line.split() for line in (text_of("/proc/meminfo") or "").splitlines()]
    return {row[0].rstrip(":"): int(row[1]) << 10 for row in rows if len(row) >= 2 and row[1].isdecimal()}


# ---- does it work at all ----

def machine() -> Iterator[Finding]:
    """What HAKMEM is built for, is this; pages are the kernel's."""
    libc = f"glibc {glibc}" if (glibc := glibc_version()) else "another libc than glibc"
    found = f"{machine_of(own_head())}; {libc}; pages of {mmap.PAGESIZE >> 10} KiB; Linux {os.uname().release}"
    means = "HAKMEM is for x86-64 and AArch64, 64-bit and little-endian, with a build for each, and for glibc and musl"
    yield Finding("machine", State.WELL, found, means)


def about_secure(library: Path) -> str:
    """Of the flavour with checks around each block: that this is it, or that it is beside this one."""
    secure = library.with_name(SECURE_LIBRARY)
    if secure.resolve() == library.resolve():
        return "; it ends a program at an error of memory"
    return f"; hakmem exec --secure takes {SECURE_LIBRARY} beside it" if secure.is_file() else ""


def serves_here(places: Places) -> Iterator[Finding]:
    """A small program is run on it, with all the settings of the environment. Not one for musl where that program, or the
    probe that tells what served, is for glibc."""
    of_musl = is_for_musl(places.identity_probe) and is_program_of_musl(Path(SMALL_PROGRAM).resolve())
    if is_for_musl(places.so_file) and not of_musl:
        means = f"whether it starts and serves here is not known: the probe and {SMALL_PROGRAM} are not of musl"
        yield Finding("library", State.NOTE, f"{places.so_file}: not tried", means, "hakmem exec -- PROGRAM runs a program on it")
        return
    with scratch_folder() as folder:
        stem = folder / "proof"
        variables = dict(os.environ) | {
            "LD_PRELOAD": f"{places.so_file} {places.identity_probe}", "HAKPROBE_FILE": str(stem),
        }
        ended = subprocess.run([SMALL_PROGRAM], env=variables, capture_output=True, text=True, errors="surrogateescape",
                               check=False)
        served = any(record.owned and record.served_by(places.so_file) for record in read_records(stem))
    said = " ".join(ended.stderr.split())
    if not served or ended.returncode:
        why = said or f"{SMALL_PROGRAM} ended with status {ended.returncode}"
        yield Finding("library", State.UNSERVED, why, "HAKMEM serves nothing here", "build it for this machine: make")
        return
    means = f"it is loaded, starts and serves here{about_secure(places.so_file)}"
    yield Finding("library", State.WELL, f"{places.so_file} served {SMALL_PROGRAM}", means)
    for line in filter(None, ended.stderr.splitlines()):
        text = line.removeprefix("hakmem: ")
        yield Finding("settings", State.CHANGE, text, "that setting has no effect", "docs/guide/settings.md has all")


def preloaded(places: Places) -> Iterator[Finding]:
    for entry in callers_preloads(os.environ, places.so_file):
        if not os.path.exists(entry) and "/" in entry:
            text = f"{entry} does not exist"
            yield Finding("LD_PRELOAD", State.CHANGE, text, "the dynamic linker complains at each start", "unset it")
        elif is_allocator(entry):
            text = f"{entry} is preloaded, too"
            yield Finding("LD_PRELOAD", State.CHANGE, text, "two allocators: the first one serves", "unset it")


# ---- the kernel ----

def first_touch(memory: mmap.mmap, at: int, step: int, end: int) -> float:
    """ms."""
    begun = time.perf_counter()
    for offset in range(at, end, step):
        memory[offset] = 1
    return (time.perf_counter() - begun) * 1e3


def cost_now() -> str:
    """Measured in this process, once: the next one may find others at hand."""
    with mmap.mmap(-1, 3 * HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        border = -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % HUGE
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        small = first_touch(memory, border, mmap.PAGESIZE, border + HUGE)
        memory.madvise(mmap.MADV_HUGEPAGE)
        huge = first_touch(memory, border + HUGE, HUGE, border + 2 * HUGE)
    said = "cheaper here, just now" if huge < small else "dearer here, just now"
    return f"{said}: 2 MiB took {huge:.2f} ms as one page, {small:.2f} ms as small pages"


def mode_of(folder: str) -> str:
    """The mode in brackets; empty without the file."""
    return (text_of(f"{THP}/{folder}enabled") or "").partition("[")[2].partition("]")[0]


def middle_pages(mode: str) -> Iterator[Finding]:
    """Pages of 64 KiB to 1 MiB, which kernels from 6.8 on offer beside those of 2 MiB."""
    modes = {kib: mode_of(f"hugepages-{kib}kB/") for kib in (64, 128, 256, 512, 1024, 2048)}
    given = [kib for kib, own in modes.items() if own == "always" or (own == "inherit" and mode == "always")]
    sizes = ", ".join(f"{kib} KiB" for kib in given if kib < 2048)
    if not modes[64]:
        return
    if not given or given == [2048]:
        means = f"always in {THP}/hugepages-64kB/enabled makes most pages cost a third"
        yield Finding("middle pages", State.NOTE, "the system gives none of 64 KiB to 1 MiB", means)
    elif 2048 in given:
        means = "HAKMEM's range has none of them, as the system would give those of 2 MiB, too"
        yield Finding("middle pages", State.NOTE, sizes, means)
    else:
        yield Finding("middle pages", State.WELL, sizes, "blocks below 1 MiB have them, once a program has 8 MiB")


def huge_pages() -> Iterator[Finding]:
    said = text_of(f"{THP}/enabled")
    if said is None:
        yield Finding("huge pages", State.NOTE, "the kernel has none", "HAKMEM does without")
        return
    mode = said.partition("[")[2].partition("]")[0]
    wants = os.environ.get("HAKMEM_HUGE_PAGES", "") == "on"
    means = {
        "always": "HAKMEM's range has them only where they cost less than small pages; the program's own mappings take them",
        "madvise": "HAKMEM asks for them where they cost less than small pages",
        "never": "HAKMEM asks in vain; all else is the same",
    }.get(mode, "")
    if mode in ("always", "madvise"):
        means += f"; {cost_now()}"
    bad = mode == "never" and wants
    change = f"HAKMEM_HUGE_PAGES=on needs madvise in {THP}/enabled" if bad else ""
    yield Finding("huge pages", State.CHANGE if bad else State.WELL, mode or said, means, change)
    yield from middle_pages(mode)


def overcommit() -> Iterator[Finding]:
    mode, facts = text_of("/proc/sys/vm/overcommit_memory"), memory_facts()
    if mode is None:
        return
    if mode != "2":
        how = {"0": "0 (by guess)", "1": "1 (always)"}.get(mode, mode)
        yield Finding("overcommit", State.WELL, how, "address space that is not touched costs nothing")
        return
    room = facts.get("CommitLimit", 0) - facts.get("Committed_AS", 0)
    tight = room < facts.get("MemAvailable", 0)
    change = "raise vm.overcommit_ratio, or set vm.overcommit_memory=0" if tight else ""
    found = f"2 (strict), {size(max(room, 0))} may still be promised"
    means = "memory is refused while pages are free" if tight else "memory is refused when that is used up"
    yield Finding("overcommit", State.CHANGE if tight else State.WELL, found, means, change)


def mappings() -> Iterator[Finding]:
    said = text_of("/proc/sys/vm/max_map_count")
    if said is None or not said.isdecimal():
        return
    few = int(said) < USUAL_MAPPINGS
    means = "HAKMEM gives less back once they are used up" if few else "more than HAKMEM's mappings need"
    change = f"sysctl vm.max_map_count={USUAL_MAPPINGS}" if few else ""
    yield Finding("vm.max_map_count", State.CHANGE if few else State.WELL, f"{int(said):,}", means, change)


# ---- limits ----

def user_limits() -> Iterator[Finding]:
    whole = memory_facts().get("MemTotal", 0)
    for flag, name, kind in (("-v", "address space", resource.RLIMIT_AS), ("-d", "data", resource.RLIMIT_DATA)):
        soft, _ = resource.getrlimit(kind)
        if soft == resource.RLIM_INFINITY:
            yield Finding(f"ulimit {flag}", State.WELL, f"no limit on {name}", "memory is refused only when there is none")
        elif soft < whole:
            yield Finding(
                f"ulimit {flag}", State.CHANGE, f"{size(soft)} of {name}", "memory is refused (ENOMEM) from there on, though "
                f"the machine has {size(whole)}", f"ulimit {flag} unlimited",
            )
        else:
            yield Finding(f"ulimit {flag}", State.WELL, f"{size(soft)} of {name}", "more than the machine has")
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    found = "no limit on locked memory" if soft == resource.RLIM_INFINITY else f"{size(soft)} may be locked"
    means = "a program that locks its memory (mlockall) gives none back, however much is free"
    yield Finding("ulimit -l", State.WELL, found, means)


def control_groups() -> Iterator[Finding]:
    own, mounts = text_of("/proc/self/cgroup"), text_of("/proc/self/mountinfo")
    if own is None or mounts is None:
        return
    found = list(groups.limits(own, mounts))
    if not found:
        yield Finding("control group", State.WELL, "no limit on memory", "HAKMEM reads no file of it later")
        return
    tight = min(found, key=lambda each: each.bytes - each.used)
    full = tight.bytes - tight.used < tight.bytes // ROOM_SHARE
    change = f"raise {tight.file}, or set HAKMEM_PRICE=lean" if full else ""
    means = "less than a sixteenth is left: everything free goes back at once" if full else "HAKMEM heeds it by itself"
    text = f"{size(tight.bytes)} ({tight.file.name} of {tight.file.parent}), {size(tight.used)} in use"
    yield Finding("control group", State.CHANGE if full else State.WELL, text, means, change)


# ---- this process ----

def proc() -> Iterator[Finding]:
    closed = [name for name in ("self/maps", "self/status", "self/cgroup", "meminfo") if text_of(f"/proc/{name}") is None]
    if closed:
        yield Finding(
            "/proc", State.CHANGE, f"/proc/{closed[0]} cannot be read", "HAKMEM does not see limits and sandboxes; top and "
            "stats find no process", "mount /proc",
        )
    else:
        yield Finding("/proc", State.WELL, "can be read", "HAKMEM finds limits and sandboxes there")


def sandbox() -> Iterator[Finding]:
    rows = dict(line.partition(":")[::2] for line in (text_of("/proc/self/status") or "").splitlines())
    mode = rows.get("Seccomp", "").strip()
    if mode in ("1", "2"):
        yield Finding(
            "seccomp", State.NOTE, "a filter holds for this process", "what glibc's malloc calls is enough, and at load getpid "
            "and sched_getaffinity; the helper asks for clone and prctl", "HAKMEM_BACKGROUND_THREAD=0 does without the helper",
        )
    else:
        yield Finding("seccomp", State.WELL, "no filter", "nothing is forbidden")


def findings(places: Places) -> Iterator[Finding]:
    yield from machine()
    yield from serves_here(places)
    yield from preloaded(places)
    for question in (huge_pages, overcommit, mappings, user_limits, control_groups, proc, sandbox):
        yield from question()
