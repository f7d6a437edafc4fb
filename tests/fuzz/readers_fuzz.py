# SPDX-License-Identifier: MIT OR Apache-2.0
"""Any bytes are a file that a reader of cli/hakmem takes: it returns, or refuses in the words that it has for that.

    readers_fuzz.py KIND|all [option of libFuzzer ...] [folder ...]

Guided by what the readers' lines were reached: it needs atheris (`build/venv/bin/python -m pip install atheris`), which
nothing else does. `all`: the first byte chooses the kind. The whole commands, their output and their bounds:
cli/tests/test_hostile.py.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["hakmem", "elftools"]):
    from hakmem.base.errors import Refusal
    from hakmem.base.exit import printable
    from hakmem.explaining.crash import lines_of, reports_in
    from hakmem.learning.decisions import changes_of, ring_of
    from hakmem.learning.policy import policy_of, sum_of
    from hakmem.process.counters import calls_of, parse_counts
    from hakmem.reading import pprof, table_file
    from hakmem.reading.names import mappings_of, symbols_of
    from hakmem.reading.perf_map import names_in
    from hakmem.reading.stats_page import Torn, page_of
    from hakmem.reading.symbols import Image
    from hakmem.reading.unpack import Unpacker

FILE = Path(tempfile.mkdtemp(prefix="hakmem-fuzz-")) / "file"
ANSWERS = (Refusal, table_file.Damaged, Torn)


def read_policy(data: bytes) -> None:
    """The code behind the sum is reached, too."""
    for text in (data, data + f"end {data.count(10)} {sum_of(data):016x}\n".encode()):
        try:
            policy_of(text, "policy")
        except Refusal as refusal:
            assert str(refusal).isprintable(), str(refusal)


def read_table(data: bytes) -> None:
    for text in (data, table_file.MAGIC + data):
        try:
            table_file.fill(pprof.Profile(), text.ljust(2 * table_file.CHUNK, b"\0"), FILE)
        except ANSWERS:
            pass


def read_decisions(data: bytes) -> None:
    changes_of(data)
    ring_of(data, int.from_bytes(data[:8], "little"), "ring")


def read_crash(data: bytes) -> None:
    for report in reports_in(data.decode(errors="replace")):
        assert all(printable(line).isprintable() for line in lines_of(report))


def read_profile(data: bytes) -> None:
    FILE.write_bytes(data)
    pprof.read(FILE)


def read_trace(data: bytes) -> None:
    FILE.write_bytes(data)
    for piece in Unpacker(FILE, lambda read: None).pieces():
        assert len(piece) <= 1 << 20


def read_program(data: bytes) -> None:
    FILE.write_bytes(data)
    symbols_of.cache_clear()
    image = Image(str(FILE), "00ff")
    image.usable = True
    image.address_of(0x1000)
    symbols_of(str(FILE)).function(0x1000)


READERS: dict[str, Callable[[bytes], object]] = {
    "policy": read_policy, "table": read_table, "decisions": read_decisions, "crash": read_crash, "profile": read_profile,
    "trace": read_trace, "stats": lambda data: page_of(data, "page").told, "counters": lambda data: calls_of(parse_counts(data)),
    "perf-map": lambda data: names_in(io.BytesIO(data), (0, 1, 0x1000, 1 << 63)),
    "program": read_program,
    "maps": lambda data: mappings_of(data.decode(errors="replace")),
}


def read(kind: str, data: bytes) -> None:
    try:
        READERS[kind](data)
    except ANSWERS:
        pass


def read_any(data: bytes) -> None:
    if data:
        read(tuple(READERS)[data[0] % len(READERS)], data[1:])


def main() -> None:
    kind, *options = sys.argv[1:]
    atheris.Setup([sys.argv[0], *options], read_any if kind == "all" else lambda data: read(kind, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
