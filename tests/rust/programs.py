# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real programs from the crates registry on HAKMEM, on the mimalloc crate and on the system's allocator: `make crates`.

    tests/rust/programs.py [--rounds 10] [ripgrep] [jaq]

Each program is compiled three times, its main patched by a `#[global_allocator]` and nothing else, and does the same
work: what it writes must be the same bytes. Times are the least CPU time of rounds in which the three take turns, peaks
are the kernel's, from outside (hak_launcher); no time is judged. That HAKMEM served the program is proved in runs beside
those that are measured: its own counters say as many blocks as a library in front of libc's malloc (libhakprobe.so)
counts fewer in its build, and in mimalloc's, than in the system's.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hakmem.process.counters import calls_of, read_counts
from hakmem.process.launch import Figures, Launcher, Streams
from hakmem.process.proof import read_records

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "build/release"
WORK = ROOT / "build/crates"
NEEDED = (1, 82)  # a `cargo vendor` and crates of today
MIMALLOC = "0.1.52"
ALLOCATORS = {"system": "", "mimalloc": "mimalloc", "HAKMEM": "hakmem-alloc"}
USED = {"mimalloc": "mimalloc::MiMalloc", "hakmem-alloc": "hakmem::HakMem"}
TOLERANCE = 0.01  # threads that run in another order ask for a few blocks more or less


class Stopped(Exception):
    """In one line, why there is no result."""


@dataclass(frozen=True)
class Proof:
    served: int  # blocks that HAKMEM counted
    left: int  # that libc was asked for all the same, by itself


@dataclass(frozen=True)
class Program:
    crate: str
    version: str
    binary: str
    main: str
    work: tuple[tuple[str, ...], ...]
    ordered: bool = True  # False where threads write as they come


PROGRAMS = (
    Program("ripgrep", "14.1.1", "rg", "crates/core/main.rs", (
        ("--no-ignore", "--sort", "path", "-n", "-i", "[aeiou]{2}(st|ing) .*ed", "texts"),
        ("--no-ignore", "--sort", "path", "-o", "-r", "$2 $1", r"(\w+ing) (\w+ed)", "texts"),
        ("--no-ignore", "-j", "2", "--vimgrep", "-w", "[a-m]{3}", "texts"),
    ), ordered=False),
    Program("jaq", "3.1.2", "jaq", "src/main.rs", (
        ("-c", "group_by(.kind) | map({kind: .[0].kind, n: length, top: (map(.score) | max)})", "rows.json"),
        ("-c", ".[] | select(.score > 500) | {id, tags: (.tags | sort | join(\",\"))}", "rows.json"),
        ("[.[].text | ascii_downcase | split(\" \") | .[]] | unique | length", "rows.json"),
    )),
)


# ---- the programs ----

def cargo(*words: str | Path, cwd: Path) -> str:
    done = subprocess.run(["cargo", *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("error")]
        raise Stopped(f"cargo {words[0]}: {(errors or done.stderr.splitlines() or ['failed'])[0]}")
    return done.stdout


def check_cargo() -> None:
    if not shutil.which("cargo"):
        raise Stopped("cargo is not installed; on Debian 12: apt-get install cargo-web")
    version = re.match(r"cargo (\d+)\.(\d+)", cargo("--version", cwd=ROOT))
    if not version or (int(version[1]), int(version[2])) < NEEDED:
        raise Stopped(f"cargo {NEEDED[0]}.{NEEDED[1]} or newer is needed for these programs")


def fetch(program: Program) -> Path:
    """The program's sources, patched, by way of a project that depends on it; as they were, where they are there."""
    folder = WORK / program.crate
    stamp, wanted = folder / "stamp", f"{program.version} {MIMALLOC}"
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return folder / "source"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "ask/src").mkdir(parents=True)
    (folder / "ask/src/lib.rs").touch()
    (folder / "ask/Cargo.toml").write_text(
        "[workspace]\n[package]\nname = \"ask\"\nversion = \"0.0.0\"\nedition = \"2021\"\n"
        f"[dependencies]\n{program.crate} = \"={program.version}\"\n", encoding="utf-8")
    cargo("vendor", "--quiet", "vendor", cwd=folder / "ask")
    shutil.copytree(folder / "ask/vendor" / program.crate, folder / "source")
    shutil.rmtree(folder / "ask")
    patch(folder / "source", program)
    stamp.write_text(wanted, encoding="ascii")
    return folder / "source"


def patch(source: Path, program: Program) -> None:
    """Two features, each of which is a global allocator. One that the program has already is left as it is."""
    manifest, main = source / "Cargo.toml", source / program.main
    settings, code = manifest.read_text(encoding="utf-8"), main.read_text(encoding="utf-8")
    needs = {"mimalloc": f'version = "={MIMALLOC}"\ndefault-features = false\n',
             "hakmem-alloc": f'path = "{ROOT}/bindings/rust/hakmem"\nfeatures = ["environment"]\n'}
    for name, where in needs.items():
        if f"[dependencies.{name}]" not in settings:
            settings += f"\n[dependencies.{name}]\noptional = true\n{where}"
            code += f'\n#[cfg(feature = "{name}")]\n#[global_allocator]\nstatic TRIED: {USED[name]} = {USED[name]};\n'
    manifest.write_text(settings + "\n[workspace]\n", encoding="utf-8")
    main.write_text(code, encoding="utf-8")


def compile_for(source: Path, program: Program, allocator: str) -> Path:
    feature = ALLOCATORS[allocator]
    if allocator == "mimalloc":  # where the program names it, it may be an older one
        cargo("update", "--quiet", "mimalloc", "--precise", MIMALLOC, cwd=source)
    cargo("build", "--quiet", "--release", "--target-dir", WORK / "target", "--bin", program.binary,
          "--no-default-features", *(("--features", feature) if feature else ()), cwd=source)
    binary = WORK / program.crate / f"{program.binary}-{allocator}"
    shutil.copy(WORK / "target/release" / program.binary, binary)
    return binary


# ---- what they work on ----

def words(chance: random.Random, count: int) -> str:
    ends = ("ing", "ed", "er", "est", "ly", "a", "o", "ion")
    return " ".join("".join(chance.choices("abcdefghilmnoprstuw", k=chance.randint(2, 6))) + chance.choice(ends)
                    for _ in range(count))


def make_texts(folder: Path) -> None:
    chance = random.Random(1)
    for number in range(400):
        file = folder / f"texts/{number % 20}/{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(words(chance, 9) + "\n" for _ in range(800)), encoding="utf-8")


def make_rows(folder: Path) -> None:
    chance = random.Random(2)
    rows = [{"id": number, "kind": words(chance, 1)[:2], "score": chance.randrange(1000), "text": words(chance, 8),
             "tags": words(chance, chance.randint(0, 5)).split()} for number in range(60_000)]
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")


# ---- runs ----

class Runs:
    """One piece of work of one program, on all three."""

    def __init__(self, program: Program, binaries: dict[str, Path], work: tuple[str, ...]) -> None:
        self.program, self.binaries, self.work = program, binaries, work
        self.launcher = Launcher(TOOLS / "hak_launcher", WORK)
        self.output = WORK / "output"
        self.figures: dict[str, list[Figures]] = {name: [] for name in binaries}

    def run(self, allocator: str, **variables: str) -> bytes:
        """What it wrote."""
        os.chdir(WORK / "input")
        used = self.launcher.run([str(self.binaries[allocator]), *self.work], {**os.environ, **variables},
                                 Streams(output=self.output))
        if used.status:
            raise Stopped(f"{self.binaries[allocator].name} {' '.join(self.work)}: {used.end}")
        self.figures[allocator].append(used)
        written = self.output.read_bytes()
        return written if self.program.ordered else b"".join(sorted(written.splitlines(keepends=True)))

    def asked_of_libc(self, allocator: str, folder: Path) -> int:
        self.run(allocator, LD_PRELOAD=str(TOOLS / "libhakprobe.so"), HAKPROBE_FILE=str(folder / allocator))
        return sum(record.allocs for record in read_records(folder / allocator))

    def prove(self) -> Proof:
        """By runs that are not measured: what HAKMEM counted is what libc is asked for on the system's allocator, but
        for what it is asked for in any case (directories that are read, say)."""
        folder = WORK / "proof"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.run("HAKMEM", HAKMEM_COUNT_CALLS="on", HAKMEM_COUNTERS_FILE=str(folder / "counts"))
        served = sum(calls_of(counts).allocs for counts in read_counts(folder / "counts").values())
        asked = {allocator: self.asked_of_libc(allocator, folder) for allocator in self.binaries}
        self.figures = {name: [] for name in self.binaries}
        for allocator in ("HAKMEM", "mimalloc"):
            missing = abs(asked["system"] - asked[allocator] - served)
            if not served or missing > TOLERANCE * served:
                raise Stopped(f"no proof: HAKMEM counted {served} blocks, libc was asked for {asked}")
        return Proof(served, asked["HAKMEM"])

    def compare(self, rounds: int) -> None:
        for number in range(rounds):
            names = list(self.binaries)
            written = {name: self.run(name) for name in names[number % 3:] + names[:number % 3]}
            if not written["system"]:
                raise Stopped(f"{self.program.binary} {' '.join(self.work)}: wrote nothing")
            for name in names:
                if written[name] != written["system"]:
                    raise Stopped(f"{self.program.binary} {' '.join(self.work)}: on {name} it wrote something else")

    def rows(self, proof: Proof) -> Iterator[str]:
        yield f"{self.program.binary} {' '.join(self.work)}"
        yield (f"    the same output, {self.output.stat().st_size:,} bytes; in its build HAKMEM served {proof.served:,} blocks, "
               f"libc itself {proof.left:,}")
        for name, figures in self.figures.items():
            cpu = min(used.user_us + used.sys_us for used in figures) / 1e3
            wall = min(used.wall_ns for used in figures) / 1e6
            peak = sorted(used.maxrss_kib for used in figures)[len(figures) // 2] / 1024
            yield f"    {name:<9} {cpu:9.1f} ms CPU  {wall:9.1f} ms  {peak:7.1f} MiB peak"


def try_program(program: Program, rounds: int) -> None:
    print(f"crates: {program.crate} {program.version}, compiling it three times", file=sys.stderr)
    source = fetch(program)
    binaries = {allocator: compile_for(source, program, allocator) for allocator in ALLOCATORS}
    for work in program.work:
        runs = Runs(program, binaries, work)
        proof = runs.prove()
        runs.compare(rounds)
        print("\n".join(runs.rows(proof)), flush=True)


def main() -> int:
    known = {program.crate: program for program in PROGRAMS}
    parser = argparse.ArgumentParser(description="Real programs of the crates registry on three allocators.")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(known))
    given = parser.parse_args()
    if unknown := [name for name in given.programs if name not in known]:
        parser.error(f"{unknown[0]}: not one of {', '.join(known)}")
    if given.rounds < 1:
        parser.error("--rounds: at least 1")
    try:
        check_cargo()
        (WORK / "input").mkdir(parents=True, exist_ok=True)
        make_texts(WORK / "input")
        make_rows(WORK / "input")
        for name in given.programs or known:
            try_program(known[name], given.rounds)
    except Stopped as reason:
        print(f"crates: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
