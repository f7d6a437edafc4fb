# SPDX-License-Identifier: MIT OR Apache-2.0
"""Two HAKMEMs in one process: one preloaded, another linked or opened, of the same version or of another.

HAK_TEST_BUILD is a build folder. HAK_TEST_OLD is a build folder of an older commit (versions.sh makes one); without it the
second HAKMEM is a copy of the first. Each pair of libraries is tried both ways round. Nothing may be said on stderr, and every
block must keep its bytes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).with_name("twice.c")
BUILD = Path(os.environ["HAK_TEST_BUILD"]).resolve()
OLD = Path(os.environ["HAK_TEST_OLD"]).resolve() if os.environ.get("HAK_TEST_OLD") else None
LIBRARIES = ("libhakmem.so", "libhakmem.so.0", "libhakmem-dl.so", "libhakmem.a", "libhakmem-override.a")
PRELOADED = "libhakmem.so"


class TwoVersions(unittest.TestCase):
    folder: Path
    pairs: list[tuple[Path, Path]]

    @classmethod
    def setUpClass(cls) -> None:
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        second = cls.folder / "second"
        second.mkdir()
        for name in LIBRARIES:
            shutil.copy((OLD or BUILD) / name, second / name)
        cls.pairs = [(BUILD, second), (second, BUILD)]

    def built(self, name: str, *more: str) -> Path:
        program = self.folder / name
        subprocess.run(["cc", "-O1", "-w", str(SOURCE), "-o", str(program), "-pthread", *more], check=True)
        return program

    def expect(self, preload: str, *command: object) -> str:
        """The file that malloc lies in."""
        env = {"PATH": os.environ["PATH"], "LD_PRELOAD": preload}
        ended = subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual((ended.stderr, ended.returncode), ("", 0), ended.stdout)
        first, *rest = ended.stdout.splitlines()
        self.assertEqual(rest, ["done"])
        return first.removeprefix("malloc of ")

    def test_linked_statically_under_hak_names(self) -> None:
        for first, second in self.pairs:
            with self.subTest(preloaded=str(first)):
                program = self.built("static", "-DLINKED", str(second / "libhakmem.a"))
                self.assertEqual(self.expect(str(first / PRELOADED), program), str(first / PRELOADED))

    def test_a_program_with_malloc_of_the_other_keeps_it(self) -> None:
        for first, second in self.pairs:
            with self.subTest(preloaded=str(first)):
                program = self.built("override", "-Wl,-u,malloc", str(second / "libhakmem-override.a"))
                self.assertEqual(self.expect(str(first / PRELOADED), program), str(program))

    def test_a_linked_library_gives_way_to_the_preloaded(self) -> None:
        """Both have one SONAME: the loader takes the first."""
        for first, second in self.pairs:
            with self.subTest(preloaded=str(first)):
                program = self.built("shared", "-DLINKED", str(second / PRELOADED), f"-Wl,-rpath,{second}")
                self.assertEqual(self.expect(str(first / PRELOADED), program), str(first / PRELOADED))

    def test_opened_beside_the_preloaded(self) -> None:
        program = self.built("plain")
        for first, second in self.pairs:
            with self.subTest(preloaded=str(first)):
                self.assertEqual(self.expect(str(first / PRELOADED), program, "open", second / "libhakmem-dl.so"), str(first / PRELOADED))

    def test_opened_in_a_namespace_of_its_own(self) -> None:
        """Libraries there write to the cells of the first namespace's thread keys. The first HAKMEM must not believe them."""
        program = self.built("plain")
        for first, second in self.pairs[:1] if OLD else self.pairs:
            with self.subTest(preloaded=str(first)):
                self.assertEqual(self.expect(str(first / PRELOADED), program, "apart", second / "libhakmem-dl.so"), str(first / PRELOADED))

    def test_preloaded_both(self) -> None:
        program = self.built("plain")
        for first, second in self.pairs:
            with self.subTest(first=str(first)):
                self.assertEqual(self.expect(f"{first / PRELOADED} {second / PRELOADED}", program), str(first / PRELOADED))


if __name__ == "__main__":
    unittest.main()
