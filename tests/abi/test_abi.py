# SPDX-License-Identifier: MIT OR Apache-2.0
"""scripts/abi.py on small libraries: what is added is told, what breaks is told and refused, a new SONAME allows it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SONAME = "libhakmem.so.0"
HEADER = """#include <stddef.h>
struct hak_stats { unsigned version, size; unsigned long used; };
struct hak_pair { int a, b; };
void *hak_take(size_t n);
int hak_ask(struct hak_stats *s, struct hak_pair *p);
"""
SOURCE = """#include "it.h"
#define OUT __attribute__((visibility("default")))
int g_inside;
OUT void *hak_take(size_t n) { return (char *)&g_inside + n; }
OUT int hak_ask(struct hak_stats *s, struct hak_pair *p) { return (int)s->used + p->a + p->b; }
"""
MORE = "\nOUT int hak_more(int n) { return n; }\n"


class Abi(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.build()
        self.assertEqual(self.abi("--renew"), (0, ["abi: 5 libraries, 10 names, 0 findings"]))

    def build(self, header: str = HEADER, source: str = SOURCE, soname: str = SONAME) -> None:
        (self.folder / "it.h").write_text(header)
        (self.folder / "it.c").write_text(source)
        (self.folder / "it.map").write_text("HAKMEM_0.1 { global: hak_*; };\n")
        self.run_in("gcc", "-g", "-fPIC", "-fvisibility=hidden", "-c", "it.c")
        for name, inner in (("libhakmem.so", soname), ("libhakmem-dl.so", "libhakmem-dl.so"), ("libhakmem-secure.so", "libhakmem-secure.so.0")):
            self.run_in("gcc", "-shared", "-nostdlib", "-o", name, "it.o", f"-Wl,-soname,{inner}",
                        "-Wl,--version-script=it.map")
        for name in ("libhakmem.a", "libhakmem-override.a"):
            (self.folder / name).unlink(missing_ok=True)
            self.run_in("ar", "rc", name, "it.o")

    def run_in(self, *command: str) -> None:
        subprocess.run(command, cwd=self.folder, check=True)

    def abi(self, *options: str) -> tuple[int, list[str]]:
        command = [sys.executable, str(ROOT / "scripts/abi.py"), "--build", str(self.folder),
                   "--abi", str(self.folder / "abi"), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def assert_break(self, what: str) -> None:
        """It is told, and not listed anew while the SONAME is as it was."""
        for option in ([], ["--renew"]):
            status, lines = self.abi(*option)
            self.assertEqual(status, 1, lines)
            self.assertIn(what, "\n".join(lines))
        self.assertIn("as the SONAME is as it was", "\n".join(lines))

    def test_what_was_listed_passes(self) -> None:
        self.assertEqual(self.abi(), (0, ["abi: 5 libraries, 10 names, 0 findings"]))

    def test_a_new_name_is_to_be_listed(self) -> None:
        self.build(source=SOURCE + MORE)
        status, lines = self.abi()
        self.assertEqual((status, len(lines)), (1, 6))
        self.assertIn("libhakmem.so: hak_more@HAKMEM_0.1 global is exported, but not listed", lines[0])
        self.assertEqual(self.abi("--renew")[0], 0)
        self.assertEqual(self.abi(), (0, ["abi: 5 libraries, 15 names, 0 findings"]))

    def test_a_name_that_is_gone_is_a_break(self) -> None:
        self.build(source=SOURCE.replace("OUT void *hak_take", "void *hak_take"))
        self.assert_break("libhakmem.so: hak_take@HAKMEM_0.1 global is gone")

    def test_another_type_is_a_break(self) -> None:
        self.build(HEADER.replace("int a, b;", "long a, b;"))
        self.assert_break("type of 'int a' changed")

    def test_another_argument_is_a_break(self) -> None:
        self.build(HEADER.replace("size_t n", "int n"), SOURCE.replace("size_t n", "int n"))
        self.assert_break("hak_take")

    def test_statistics_may_grow_at_their_end(self) -> None:
        self.build(HEADER.replace("unsigned long used;", "unsigned long used, more;"))
        (self.folder / "abi/compatible.ini").write_text((ROOT / "abi/compatible.ini").read_text())
        self.assertEqual(self.abi()[0], 0)
        self.build(HEADER.replace("unsigned long used;", "unsigned long more, used;"))
        self.assert_break("hak_stats")

    def test_a_new_soname_allows_a_break(self) -> None:
        self.build(HEADER.replace("int a, b;", "long a, b;"), soname="libhakmem.so.1")
        self.assertEqual(self.abi()[1][0], "libhakmem.so.1 is a new SONAME: scripts/abi.py --renew")
        self.assertEqual(self.abi("--renew")[0], 0)
        self.assertEqual(self.abi()[0], 0)

    def test_an_archive_has_no_name_that_a_program_may_want(self) -> None:
        self.build(source=SOURCE.replace("g_inside", "inside"))
        self.assertIn("libhakmem.a: inside may be a program's own name", self.abi()[1][0])

    def test_what_is_missing_is_told_in_a_line(self) -> None:
        (self.folder / "abi/libhakmem.so.xml").unlink()
        self.assertIn("libhakmem.so.xml is not there: scripts/abi.py --renew writes it", self.abi()[1][0])
        (self.folder / "libhakmem.so").unlink()
        status, lines = self.abi()
        self.assertEqual((status, len(lines)), (1, 2), lines)


if __name__ == "__main__":
    unittest.main()
