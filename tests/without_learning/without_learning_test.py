# SPDX-License-Identifier: MIT OR Apache-2.0
"""The library without learning beside the one that learns: the same fast paths and tables, and one line for what is missing.

HAK_BUILD is the build's folder, HAK_TEST_PROGRAMS that of this folder's library and program. Each class is one ctest test.
"""

import os
import re
import subprocess
import unittest
from pathlib import Path

PROGRAMS = Path(os.environ["HAK_TEST_PROGRAMS"])
WITH = Path(os.environ["HAK_BUILD"]) / "libhakmem.so"
WITHOUT = PROGRAMS / "libhakmem.so"
FAST_PATHS = ("malloc", "free", "calloc", "realloc", "hak_malloc", "hak_free", "hak_calloc", "hak_realloc")
ADDRESS = r"-?0x[0-9a-f]+(?=\(%rip\))|# [0-9a-f]+ |\b[0-9a-f]+ (?=<)|(?<=_GLOBAL_OFFSET_TABLE_)\+0x[0-9a-f]+"
TABLES = ("hak_layout", "g_class", "g_class_end", "g_mid_class", "g_small_class")


def output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(library: Path) -> dict[str, tuple[int, int]]:
    """Address and size by name."""
    rows = [line.split() for line in output("nm", "--print-size", library).splitlines()]
    return {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4}


def placed(lines: list[str]) -> list[str]:
    """AArch64 has the high part of an address in an adrp, the low part in the register's next instruction: without both."""
    halves: set[str] = set()
    out = []
    for line in lines:
        high = re.match(r"\s*adrp\s+(x\d+), ", line)
        used = next((each for each in halves if re.search(rf"\b{each}\b", line)), None)
        if high:
            halves.add(high[1])
            line = high[0]
        elif used:
            halves.remove(used)
            line = re.sub(r"#(0x[0-9a-f]+|\d+)", "#low", line)
        out.append(line)
    return out


def code(library: Path, name: str) -> str:
    """The instructions of a function, with names in the place of addresses, as other code lies elsewhere."""
    address, size = symbols(library)[name]
    text = output("objdump", "-d", "-j", ".text", "--no-show-raw-insn", f"--start-address={address}",
                  f"--stop-address={address + size}", library)
    lines = [line.partition(":")[2] for line in text.splitlines() if re.match(r"\s+[0-9a-f]+:", line)]
    named = [re.sub(ADDRESS, "", line).replace("  ", " ") for line in lines]
    return "\n".join([f"{size} bytes", *placed(named)])


def content(library: Path, name: str) -> bytes:
    """The bytes of a constant in the file."""
    address, size = symbols(library)[name]
    for line in output("readelf", "-lW", library).splitlines():
        fields = line.split()
        if fields[:1] == ["LOAD"] and int(fields[2], 16) <= address < int(fields[2], 16) + int(fields[4], 16):
            offset = address - int(fields[2], 16) + int(fields[1], 16)
            return library.read_bytes()[offset : offset + size]
    raise AssertionError(f"{name} lies in no segment")


class Same(unittest.TestCase):
    """What every program runs and what tools read from outside does not depend on learning."""

    def test_fast_paths(self) -> None:
        for name in FAST_PATHS:
            with self.subTest(name):
                self.assertEqual(code(WITHOUT, name), code(WITH, name))

    def test_tables_and_layout(self) -> None:
        for name in TABLES:
            with self.subTest(name):
                self.assertTrue(content(WITH, name))
                self.assertEqual(content(WITHOUT, name), content(WITH, name))

    def test_exported_names(self) -> None:
        names = [{line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()}
                 for library in (WITH, WITHOUT)]
        self.assertEqual(names[0], names[1])

    def test_it_is_smaller(self) -> None:
        sizes = [list(map(int, output("size", library).splitlines()[1].split()[:3])) for library in (WITH, WITHOUT)]
        print("\n".join(f"{name}: text {size[0]}, data {size[1]}, bss {size[2]}"
                        for name, size in zip(("with learning", "without"), sizes, strict=True)))
        self.assertLess(sizes[1][0], sizes[0][0])
        self.assertLess(sizes[1][2], sizes[0][2])


class Told(unittest.TestCase):
    """A setting that asks for learning gets one line, a call ENOTSUP."""

    def run_with(self, *command: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "LANG": "C", "LD_PRELOAD": str(WITHOUT)} | settings
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)

    def test_nothing_is_said_to_whom_asks_for_nothing(self) -> None:
        self.assertEqual(self.run_with("true", HAKMEM_MODE="off").stderr, "")

    def test_one_line_for_each_setting(self) -> None:
        given = {"HAKMEM_MODE": "evolving", "HAKMEM_POLICY_FILE": "policy", "HAKMEM_DECISIONS_FILE": "decisions",
                 "HAKMEM_LAB_LEARN_LOG": "log"}
        for name, value in given.items():
            said = self.run_with("true", **{name: value}).stderr
            setting = name.removeprefix("HAKMEM_").lower()
            self.assertEqual(said, f"hakmem: {setting}: this library was built without learning (HAKMEM_LEARN=OFF); ignored\n")

    def test_calls_answer_that_it_is_missing(self) -> None:
        done = self.run_with(PROGRAMS / "without_learning_policy")
        self.assertEqual((done.stdout, done.stderr), ("1 1 1 baseline 1 off\n", ""))


if __name__ == "__main__":
    unittest.main()
