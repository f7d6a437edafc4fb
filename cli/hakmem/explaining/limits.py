# SPDX-License-Identifier: MIT OR Apache-2.0
"""The settings that decide over memory, as the process has them now, and the limits on it.

    g_settings, through the tables      -> price, huge_pages, limits, caches
    /proc/PID/limits, cgroup            -> ulimit -v and -d; the tightest limit of its control groups
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hakmem.base.figures import bytes_text
from hakmem.doctor.groups import limits
from hakmem.reading.tables import Tables

NAMES = (
    "price", "huge_pages", "soft_limit", "hard_limit", "background_thread", "process_cache_bytes", "big_cache_bytes",
    "profile", "profile_bytes", "site_all_sizes", "mode",
)
LEAN = 5_140_000
PRICES = {0: "0", 8_500: "speed", 640_000: "balanced", LEAN: "lean"}
HUGE = ("off", "auto", "on")
MODES = ("off", "baseline", "shadow", "evolving", "frozen")
BASELINE, LEARNT = 1, 3  # the default; the first mode whose times are learnt
SHOWN = (
    "price", "huge_pages", "background_thread", "soft_limit", "hard_limit", "process_cache_bytes", "big_cache_bytes",
)
ULIMITS = {"Max address space": "ulimit -v", "Max data size": "ulimit -d"}
Settings = dict[str, int]


def settings_of(tables: Tables) -> Settings:
    return {name: tables.setting(name) for name in NAMES}


def value_text(name: str, value: int) -> str:
    if name == "price":
        return PRICES.get(value, f"{value:,}")
    for words, of in ((HUGE, "huge_pages"), (MODES, "mode")):
        if name == of:
            return words[value] if value < len(words) else str(value)
    if name.endswith("_limit") and value == 0:
        return "none"
    if name.endswith(("_limit", "_bytes")):
        return bytes_text(value)
    return "on" if value else "off"


def settings_text(settings: Settings, policy_file: str) -> str:
    """The mode and the file only where they are not the default."""
    shown = [*SHOWN, *(["mode"] if settings["mode"] != BASELINE else [])]
    texts = [f"{name}={value_text(name, settings[name])}" for name in shown]
    return ", ".join(texts + ([f"policy_file={policy_file}"] if policy_file else []))


# ---- limits ----

def text_of(pid: int | str, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text("utf-8", "replace")
    except OSError:
        return ""


def user_limits(pid: int) -> Iterator[str]:
    for line in text_of(pid, "limits").splitlines():
        for name, flag in ULIMITS.items():
            value = line.removeprefix(name).split()[:1]
            if line.startswith(name) and value and value[0].isdecimal():
                yield f"{flag} {bytes_text(int(value[0]))}"


def group_limit(pid: int) -> Iterator[str]:
    """The control group's with the least room."""
    found = list(limits(text_of(pid, "cgroup"), text_of("self", "mountinfo")))  # type: ignore[arg-type]
    if found:
        tight = min(found, key=lambda each: each.bytes - each.used)
        yield f"{tight.file} {bytes_text(tight.bytes)}, of which {bytes_text(tight.used)} are in use"


def limits_of(pid: int) -> list[str]:
    return [*user_limits(pid), *group_limit(pid)]
