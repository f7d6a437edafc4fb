# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes machine.json: what was measured, on what, built how. No path of the machine is in it, only file names."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

import psutil

from hakmem.base.atomic_write import write_whole
from hakmem.process.peers import Allocator, steering_variables
from hakmem.process.places import Places
from hakmem_lab.bench import disturbance
from hakmem_lab.bench.cell import Benchmark

FILE = "machine.json"
UNKNOWN = "unknown"
CPU = Path("/proc/cpuinfo")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
COMPILED_SOURCE = re.compile(r"^build \S+\.o: C_COMPILER\S* \S*/src/\S+\.c .*?\n {2}FLAGS = ([^\n]*)", re.M | re.S)


def write_machine(
    folder: Path, places: Places, allocators: Iterable[Allocator], missing: list[str],
    benchmarks: Iterable[Benchmark], options: Mapping[str, object],
) -> None:
    """Before anything is measured, so that the load is that of the others."""
    facts = {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        **hardware(),
        **system(),
        **build_facts(places),
        **checkout(),
        "allocators": [allocator_facts(one) for one in allocators],
        "not_measured_because_missing": missing,
        "environment": {name: without_folders(value) for name, value in steering_variables(os.environ).items()},
        "options": dict(options),
        "benchmarks": {one.name: benchmark_facts(one) for one in benchmarks},
    }
    write_whole(folder / FILE, json.dumps(facts, indent=2) + "\n")


# ---- the machine ----

def hardware() -> dict[str, object]:
    return {
        "cpu": first_match(r"^model name\s*:\s*(.+)$", text_of(CPU)) or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mib": psutil.virtual_memory().total >> 20,
        "mhz": disturbance.frequency(),
        "machine": virtualisation(),
    }


def system() -> dict[str, object]:
    return {
        "kernel": platform.release(),
        "distribution": distribution(),
        "thp": first_match(r"\[(\w+)\]", text_of(HUGE_PAGES)) or UNKNOWN,
        "governor": text_of(GOVERNOR).strip() or "none (the system shows no frequency scaling)",
        "load": round(disturbance.load(), 2),
    }


def distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", UNKNOWN)
    except OSError:
        return UNKNOWN


def virtualisation() -> str:
    """Virtual machine and container as systemd names them, or what the CPU says."""
    if shutil.which("systemd-detect-virt") is None:
        return "virtual machine" if re.search(r"^flags.*\bhypervisor\b", text_of(CPU), re.M) else "not virtual"
    found = [output_of(["systemd-detect-virt", kind]).strip() for kind in ("--vm", "--container")]
    return ", ".join(name for name in found if name not in ("", "none")) or "not virtual"


# ---- how HAKMEM was built ----

def build_facts(places: Places) -> dict[str, object]:
    ours = places.so_file.parent == places.launcher.parent
    return {"compiler": compiler_of(places.so_file), "flags": flags_of(places.launcher.parent) if ours else UNKNOWN}


def compiler_of(library: Path) -> str:
    """What the compiler wrote into the library."""
    notes = output_of(["readelf", "-p", ".comment", str(library)])
    return "; ".join(re.findall(r"^\s*\[\s*[0-9a-f]+\]\s+(.+)$", notes, re.M)) or UNKNOWN


def flags_of(build: Path) -> str:
    """Those that a file of src/ is compiled with, without warnings."""
    flags = first_match(COMPILED_SOURCE, text_of(build / "build.ninja")) or UNKNOWN
    return " ".join(flag for flag in flags.split() if not flag.startswith("-W") and "/" not in flag)


def checkout() -> dict[str, object]:
    """The commit this package was checked out from, and whether anything differs from it."""
    git = ["git", "-C", str(Path(__file__).parent)]
    commit = output_of([*git, "rev-parse", "HEAD"]).strip()
    changed = bool(output_of([*git, "status", "--porcelain"]).strip())
    return {"commit": commit or UNKNOWN, "dirty": changed}


# ---- what was measured ----

def allocator_facts(allocator: Allocator) -> dict[str, object]:
    file = allocator.so_file.name if allocator.so_file else "libc.so.6"
    return {"name": allocator.name, "version": allocator.version, "file": file, "sha256": allocator.sha256}


def benchmark_facts(benchmark: Benchmark) -> dict[str, object]:
    return {
        "group": benchmark.group, "operation": benchmark.operation, "threads": benchmark.threads,
        "arguments": list(benchmark.arguments),
    }


# ---- reading ----

def text_of(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def output_of(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace").stdout
    except OSError:
        return ""


def first_match(pattern: str | re.Pattern[str], text: str) -> str | None:
    found = re.search(pattern, text, re.M if isinstance(pattern, str) else 0)
    return found[1].strip() if found else None


def without_folders(value: str) -> str:
    return re.sub(r"[^\s:=,]*/", "", value)
