# SPDX-License-Identifier: MIT OR Apache-2.0
"""Well-formed inputs of each fuzzer, made by chance from a seed: one function per kind."""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trace"))

from writer import Trace  # noqa: E402


def seed_trace(rng: random.Random) -> bytes:
    trace = Trace()
    now = 1000
    for pid in range(7, 7 + rng.randrange(1, 3)):
        process = trace.process(pid, ["prog", "-x"], parent=pid - 1)
        process.modules("400000-500000 r-xp 00000000 08:01 1 /bin/prog\n")
        live: list[int] = []
        for _ in range(rng.randrange(5, 60)):
            thread = process.thread(rng.randrange(3))
            site = (0x400000 + 16 * rng.randrange(9), rng.randrange(4))
            now += rng.randrange(1, 500)
            block = 16 * rng.randrange(1, 1 << 20)
            if live and rng.random() < 0.4:
                thread.free(now, live.pop(rng.randrange(len(live))), site)
            elif live and rng.random() < 0.3:
                thread.resize(now, live.pop(), block, rng.randrange(1 << 20), rng.randrange(99), site)
                live.append(block)
            else:
                thread.aligned(now, block, rng.randrange(1 << 20), rng.randrange(30), site)
                live.append(block)
            if rng.random() < 0.1:
                thread.close()
    return trace.bytes()


def seed_policy(rng: random.Random) -> bytes:
    """Without its end, which policy_fuzz.c makes."""

    def row() -> str:
        return " ".join(str(rng.randrange(1, 8 if n == 0 else 32768)) for n in range(10))

    past = " ".join(str(rng.randrange(1, 1 << 20)) for _ in range(5))
    lines = ["hakmem-policy 3", f"past {past}", f"process {row()}", f"bin {rng.randrange(128)} {row()}"]
    lines += [f"level runs {rng.randrange(10)} {row()}", f"class {rng.randrange(16, 1 << 20)} {rng.randrange(1 << 62)}"]
    for module in ("module abab prog", "module abac prog", "module - other", "module 00ff gone"):
        lines.append(module)
        lines += [f"site {rng.randrange(1 << 30):#x} {rng.randrange(99)} {rng.randrange(128)} {row()}" for _ in range(3)]
    return "".join(line + "\n" for line in lines).encode()


def seed_operations(rng: random.Random) -> bytes:
    """Calls, as operations_fuzz.c reads them: mostly of the family, a third of all kinds."""
    family = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 17, 18)
    at_once = rng.randrange(2)
    data = bytearray([at_once])
    while len(data) < rng.choice((50, 200, 600, 1000)):
        call = rng.choice(family) if rng.random() < 0.7 else rng.randrange(32)
        data += bytes([rng.randrange(4)] * (1 - at_once) + [call, rng.randrange(16)])
        if call < 12:
            data += bytes([rng.randrange(256), rng.choice((0x00, 0x11, 0x23, 0x40, 0x61, 0x82, 0xA3, 0xB4, 0xF0))])
        if 4 <= call < 8:
            data.append(rng.randrange(12))
    return bytes(data)


NAMES = ("price", "huge_pages", "soft_limit", "hard_limit", "cgroup_dir", "process_cache_bytes", "mode", "policy_file",
         "checks", "profile_bytes", "trace_file", "lab_big_threshold", "helper", "cont_calls", "x" * 50)
VALUES = ("0", "1", "on", "maybe", "64M", "1T", "18446744073709551616", "lean", "evolving", "/tmp/x", "/dev/null", "",
          "\x1b[31m", "a" * 70, "4096K")


def seed_settings(rng: random.Random) -> bytes:
    lines = []
    for _ in range(rng.randrange(1, 9)):
        letter, name, value = rng.choice("vvnno"), rng.choice(NAMES), rng.choice(VALUES)
        lines.append(letter + (name.upper() if letter == "v" else name) + "=" + value)
        if letter == "o":
            lines[-1] += "," + rng.choice(NAMES) + "=" + rng.choice(VALUES)
    return ("s\n" * (rng.random() < 0.1) + "\n".join(lines)).encode()


def sleb(number: int) -> bytes:
    out = bytearray()
    while True:
        byte, number = number & 0x7F, number >> 7
        done = number == -(byte >> 6)
        out.append(byte | 0x80 * (not done))
        if done:
            return bytes(out)


def record(body: bytes) -> bytes:
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<I", len(body)) + body


def seed_unwind(rng: random.Random) -> bytes:
    """A header, a CIE, and functions at 64 bytes each in front of it."""
    count = rng.randrange(1, 5)
    first = 12 + 8 * count
    cie = record(struct.pack("<IB", 0, 1) + b"zR\0" + b"\x01" + sleb(-8) + bytes([16, 1, 0x1B, 0x0C, 7, 8, 0x90, 1]))
    tables, rows, at = cie, [], first + len(cie)
    for n in range(count):
        program = b""
        for _ in range(rng.randrange(6)):
            program += rng.choice((b"\x41", b"\x0e\x10", b"\x86\x02", b"\x0d\x06", b"\x0a", b"\x0b", b"\x0c\x07\x08",
                                   b"\x02\x10", b"\x0f\x03\x76\x78\x06", b"\x10\x03\x02\x76\x70", b"\xc6", b"\x2e\x10"))
        start = -64 * (count - n)
        body = struct.pack("<Iii", at + 4 - first, start - (at + 8), 64) + b"\0" + program
        rows.append(struct.pack("<ii", start, at))
        tables += record(body)
        at += len(record(body))
    header = bytes([1, 0x1B, 3, 0x3B]) + struct.pack("<iI", first, count)
    distances = bytes(rng.randrange(256 - 4 * count, 256) for _ in range(4))
    return distances + header + b"".join(rows) + tables


MEMORY = 0x10000000
PAGE = 4096


def seed_python(rng: random.Random) -> bytes:
    """A thread of CPython 3.12 or 3.11 with frames of Python, and a stack with as many calls of the loop."""
    memory = bytearray(3 * PAGE)
    old = rng.random() < 0.4

    def word(at: int, value: int, form: str = "<Q") -> None:
        struct.pack_into(form, memory, at - MEMORY, value)

    code, name, lines, frame = MEMORY + 2 * PAGE, MEMORY + 2 * PAGE + 512, MEMORY + 2 * PAGE + 768, MEMORY + PAGE + 512
    for at, value in ((8, MEMORY + 8), (112, name), (128, name), (136, lines)):
        word(code + at, value)
    word(code + (72 if old else 68), 7, "<I")
    for at, value in ((8, MEMORY + 16), (16, 5)):
        word(name + at, value)
    word(name + 32, 0x64 if rng.random() < 0.7 else 0x28, "<I")
    memory[name + 40 - MEMORY:name + 60 - MEMORY] = b"outer" * 4
    word(lines + 16, 6)
    memory[lines + 32 - MEMORY:lines + 38 - MEMORY] = bytes([0xD1, 0xE8, 0x41, 0x02, 0xF9, 0x80])
    frames = rng.randrange(1, 5)
    word(MEMORY + PAGE + 56, MEMORY + 1024)
    word(MEMORY + 1024 + (8 if old else 0), frame)
    for n in range(frames):
        at, last = frame + 128 * n, n == frames - 1
        word(at + (32 if old else 0), code)
        word(at + (48 if old else 8), 0 if last else at + 128)
        word(at + 56, code + 192 + 2 * n)
        if old:
            word(at + 68, int(last), "<B")
        else:
            word(at + 70, 3 if last else 0, "<B")
    for n in range(8):
        word(MEMORY + 8 + 8 * n, MEMORY + 4000 + 64 * n)
    return bytes([(129 if rng.random() < 0.5 else 1) + (0 if old else 1), 8]) + bytes(memory)


SYSTEM = {
    "a": ("0::/a/b\n", "4:cpu,memory:/a\n3:cpuset:/\n0::/\n", "x\n"),
    "b": ("35 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
          "36 31 0:33 /a /sys/fs/cgroup/me\\040m rw shared:1 - cgroup cgroup rw,memory\n37 1 0:1 /.. / rw - cgroup c rw,cpu\n"),
    "c": ("max\n", "104857600\n", "-1\n"), "d": ("max\n", "9\n"), "e": ("52428800\n", "99999999999999999999\n"),
    "f": ("anon 5\ninactive_file 4096\n", "total_inactive_file 1\n"), "g": ("9223372036854771712\n",), "h": ("1\n",),
    "i": ("max 100000\n", "250000 100000\n", "1 0\n"), "j": ("-1\n", "50000\n"), "k": ("100000\n", "0\n"),
    "l": ("some avg10=1.25 avg60=0.00 avg300=0.00 total=0\n", "some avg10=101.00 x\n"), "m": ("some avg10=0.00 a\n",),
    "n": ("7f0c1a000000-7f0c1a022000 r-xp 00026000 08:01 1234                       /lib/libc.so.6\n"
          "7ffd1a000000-7ffd1a022000 rw-p 00000000 00:00 0 \n",),
    "o": ("always [madvise] never\n",), "p": ("always inherit [inherit] never\n", "[always]\n"),
}


def seed_system(rng: random.Random) -> bytes:
    files = [name.encode() + rng.choice(texts).encode() for name, texts in SYSTEM.items() if rng.random() < 0.7]
    return bytes([rng.choice((0, 0, 1, 5, 41))]) + b"\xff".join(files)


SEEDS: dict[str, Callable[[random.Random], bytes]] = {
    "events": seed_trace, "policy": seed_policy, "operations": seed_operations, "settings": seed_settings,
    "unwind": seed_unwind, "python": seed_python, "system": seed_system,
}
