# SPDX-License-Identifier: MIT OR Apache-2.0
"""proof: evidence that the allocator under test served every process of a run.

what      Two independent sources. The witness library (witness.c, preloaded) writes down for each process in which
          file malloc and its family resolve. HAKMEM itself leaves one counters file per program image: it must be
          well formed, and the ones of the programs a case starts itself must show that memory was mapped.
failure   A list of lines that say what is missing; empty when the proof holds.
not here  Counting how many calls were served (the counted twin run of `make run`).
"""

from __future__ import annotations

import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.session import Session

HEADER = struct.Struct("<8sII")
ROW = struct.Struct("<24sQ")
MAGIC = b"HAKCNT01"


@dataclass(frozen=True)
class Witness:
    """One line of the witness: a program image and where its malloc family lies."""

    pid: int
    program: str
    files: dict[str, str]


def build_witness(folder: Path) -> Path:
    """Compiles witness.c into the folder."""
    source = Path(__file__).resolve().parent.parent / "witness.c"
    target = folder / "witness.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(target), str(source)], check=True)
    return target


def parse_witness(line: str) -> Witness:
    """`<pid> <program> name=file ...`; the program's name may hold blanks."""
    words = line.split(" ")
    first = next(i for i, word in enumerate(words) if word.startswith("malloc="))
    files = dict(word.split("=", 1) for word in words[first:])
    return Witness(int(words[0]), " ".join(words[1:first]), files)


def read_witnesses(path: Path) -> list[Witness]:
    """All processes that loaded the witness."""
    if not path.exists():
        return []
    return [parse_witness(line) for line in path.read_text(errors="surrogateescape").splitlines()]


def read_counters(path: Path) -> dict[str, int]:
    """The counters file of one process (layout: docs, counters file). ValueError when it is malformed."""
    data = path.read_bytes()
    if len(data) < HEADER.size:
        raise ValueError(f"{path.name} is {len(data)} bytes short of a header")
    magic, count, row_bytes = HEADER.unpack_from(data)
    if magic != MAGIC or row_bytes != ROW.size or count == 0 or len(data) < HEADER.size + count * row_bytes:
        raise ValueError(f"{path.name} has a wrong header")
    rows = (ROW.unpack_from(data, HEADER.size + i * ROW.size) for i in range(count))
    return {name.rstrip(b"\0").decode("ascii"): value for name, value in rows}


def same_file(left: str, right: Path) -> bool:
    """True when both names lead to one file."""
    return Path(left).resolve() == right.resolve()


def wrong_names(witness: Witness, session: Session) -> list[str]:
    """The names that do not resolve in the library, or in the executable of a program with a malloc of its own."""
    if witness.program in session.own_malloc:
        return [name for name, file in witness.files.items() if Path(file).name != witness.program]
    return [name for name, file in witness.files.items() if not same_file(file, session.allocator.so_file)]


def missing_identity(session: Session) -> list[str]:
    """Processes without a witness, or whose malloc family lies elsewhere."""
    witnesses = read_witnesses(session.evidence / "witness.log")
    seen = {witness.pid for witness in witnesses}
    lines = [f"process {pid} left no witness: the preload did not reach it" for pid in session.pids if pid not in seen]
    for witness in witnesses:
        wrong = wrong_names(witness, session)
        if wrong:
            lines.append(f"{witness.program} ({witness.pid}): {wrong[0]} lies in {witness.files[wrong[0]]}")
    return lines


def counters_fault(session: Session, witness: Witness) -> str:
    """What is wrong with the counters file of one process; empty when nothing is."""
    pid = witness.pid
    path = session.evidence / f"counters.{pid}"
    if not path.exists():
        return f"process {pid} left no counters file"
    try:
        counters = read_counters(path)
    except ValueError as error:
        return str(error)
    served = pid in session.pids and witness.program not in session.own_malloc
    if served and counters.get("kernel_map", 0) == 0:
        return f"process {pid} mapped no memory through the library"
    return ""


def missing_counters(session: Session) -> list[str]:
    """Processes whose counters file is missing, malformed or empty."""
    if not session.allocator.counters:
        return []
    last = {witness.pid: witness for witness in read_witnesses(session.evidence / "witness.log")}
    return [fault for _, witness in sorted(last.items()) if (fault := counters_fault(session, witness))]


def missing_proof(session: Session) -> list[str]:
    """Everything that speaks against this session having been served by its allocator."""
    return missing_identity(session) + missing_counters(session)


def process_count(session: Session) -> int:
    """How many program images were served."""
    return len(read_witnesses(session.evidence / "witness.log"))


def maps_library(pid: int, library: Path) -> bool:
    """True when the running process has the library mapped."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return any(line.split(maxsplit=5)[-1] == str(library.resolve()) for line in maps.splitlines())
