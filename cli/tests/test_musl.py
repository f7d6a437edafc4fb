# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs of musl: `hakmem exec` preloads the library of their libc, `hakmem doctor` looks for it, and the rest is refused.

The library is a stand-in that says that it was loaded: what HAKMEM does on musl is tested in the preset musl (tests/musl).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import unittest
from pathlib import Path

from support import BUILD, Scratch, hakmem

NOTHING = "int main(void) { return 0; }"
STAND_IN = '#include <unistd.h>\n__attribute__((constructor)) static void loaded(void) { write(1, "loaded\\n", 7); }'


@unittest.skipIf(shutil.which("musl-gcc") is None, "no musl-gcc")
class Musl(Scratch):
    def setUp(self) -> None:
        super().setUp()
        self.build = self.folder / "build"
        self.build.mkdir()
        for file in filter(Path.is_file, BUILD.iterdir()):
            (self.build / file.name).symlink_to(file)
        self.program = self.compiled("program", NOTHING)

    def compiled(self, name: str, text: str, *options: str) -> str:
        source, file = self.folder / "source.c", self.folder / name
        source.write_text(text)
        subprocess.run(["musl-gcc", "-o", str(file), str(source), *options], check=True)
        return str(file)

    def build_library(self) -> str:
        (self.build / "musl").mkdir()
        file = self.compiled("libhakmem.so", STAND_IN, "-shared", "-fPIC")
        return shutil.move(file, str(self.build / "musl"))

    def executed(self, *words: str) -> subprocess.CompletedProcess[str]:
        return hakmem("exec", "--build", str(self.build), *words)

    def refused(self, text: str, *words: str) -> None:
        ended = self.executed(*words)
        self.assert_one_line(ended.stderr)
        self.assertIn(text, ended.stderr)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))

    def doctored(self) -> dict[str, dict[str, str]]:
        told = json.loads(hakmem("doctor", "--build", str(self.build), "--json", self.program).stdout)
        return {each["about"]: each for each in told["findings"]}

    def test_the_library_of_its_libc_is_preloaded(self) -> None:
        self.build_library()
        ended = self.executed(self.program)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "loaded\n", ""))

    def test_settings_are_checked(self) -> None:
        self.build_library()
        self.refused("no such setting", "--set", "nonsense=1", self.program)
        self.assertEqual(self.executed("--set", "count_calls=on", self.program).stdout, "loaded\n")

    def test_none_was_built(self) -> None:
        self.refused("program is linked with musl, and there is no musl/libhakmem.so", self.program)

    def test_a_library_of_the_other_libc(self) -> None:
        library = self.build_library()
        self.refused("is linked with musl, and libhakmem.so with glibc", "--library", str(BUILD / "libhakmem.so"), self.program)
        self.refused("true is linked with glibc, and libhakmem.so with musl", "--library", library, "/bin/true")

    def test_a_folder_for_musl(self) -> None:
        """As a wheel for musl has it: the library is found where that for glibc is otherwise."""
        (self.build / "libhakmem.so").unlink()
        shutil.move(self.compiled("libhakmem.so", STAND_IN, "-shared", "-fPIC"), self.build)
        self.assertEqual(self.executed(self.program).stdout, "loaded\n")
        self.refused("true is linked with glibc, and libhakmem.so with musl", "/bin/true")

    def test_a_static_one(self) -> None:
        self.build_library()
        self.refused("is linked statically", self.compiled("static", NOTHING, "-static"))

    def test_watching_it_needs_glibc(self) -> None:
        """Said first: a library for it that is not there would not help."""
        for option in ("--stats", "--profile"):
            self.refused("programs of glibc", option, self.program)

    def test_doctor_without_a_library_for_it(self) -> None:
        found = self.doctored()["program"]
        self.assertEqual(found["state"], "not served")
        self.assertIn("is linked with musl", found["found"])
        self.assertIn("make musl", found["change"])

    def test_doctor_with_one(self) -> None:
        self.build_library()
        found = self.doctored()
        self.assertEqual([found[about]["state"] for about in ("program", "dynamic linker")], ["ok", "ok"])
        self.assertNotIn("RTLD_DEEPBIND", found)

    def test_doctor_does_not_try_it_on_a_program_of_glibc(self) -> None:
        library = self.build_library()
        for options in ((), ("--library", library)):
            ended = hakmem("doctor", "--build", str(self.build), *options, self.program)
            self.assertRegex(ended.stdout, r"(?m)^note: +library: \S+/musl/libhakmem\.so: not tried - ")
            self.assertNotIn("invalid ELF header", ended.stdout)
            self.assertTrue(ended.stdout.endswith("; the library was not tried\n"), ended.stdout)


if __name__ == "__main__":
    unittest.main()
