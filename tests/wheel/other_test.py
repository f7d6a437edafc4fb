# SPDX-License-Identifier: MIT OR Apache-2.0
"""Wheels for another machine or libc than this interpreter's: their tags, what pip makes of them, and their files at work.

Run in a preset of that machine and libc, whose programs start here: on musl's loader, or under qemu-user (HAK_TEST_EMULATOR).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HAK_TEST_BUILD"])
MACHINE = os.environ["HAK_TEST_MACHINE"]
OWNS = os.environ["HAK_TEST_OWNS"]  # owns.c
EMULATOR = os.environ.get("HAK_TEST_EMULATOR", "").split()
IS_MUSL = BUILD.name.startswith("musl")
TAGS = {f"musllinux_1_2_{MACHINE}"} if IS_MUSL else {f"manylinux_2_17_{MACHINE}", f"manylinux_2_34_{MACHINE}"}
OTHERS = {"musllinux_1_1_x86_64", "musllinux_1_2_i686", "manylinux_2_5_x86_64", "manylinux_2_34_riscv64"} | (
    {f"{libc}_{machine}" for libc in ("musllinux_1_2", "manylinux_2_17", "manylinux_2_34") for machine in ("x86_64", "aarch64")} - TAGS
)
HAS_LOADER = not IS_MUSL or bool(EMULATOR) or Path(f"/lib/ld-musl-{MACHINE}.so.1").exists()


def run(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    variables = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"} | variables
    return subprocess.run([str(word) for word in command], env=variables, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)


class Other(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="hakmem-wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.said = run(sys.executable, ROOT / "scripts/wheel.py", "--build", BUILD, "-o", cls.folder / "wheels", BUILD.name)
        cls.wheels = {re.split(r"-py3-none-|[.]", file.stem.partition("-py3-none-")[2])[0]: file
                      for file in (cls.folder / "wheels").glob("*.whl")}

    def pip(self, command: str, tag: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return run(sys.executable, "-m", "pip", command, "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check",
                   "--find-links", self.folder / "wheels", "--platform", tag, "--only-binary", ":all:", *words, "hakmem")

    def installed(self, tag: str) -> Path:
        """The package's folder of files of the machine."""
        folder = self.folder / tag
        if not folder.exists():
            done = self.pip("install", tag, "--target", folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        return folder / "hakmem/lib"

    def test_names_and_tags(self) -> None:
        self.assertEqual(self.said.returncode, 0, self.said.stderr)
        self.assertEqual(set(self.wheels), TAGS)
        for tag, file in self.wheels.items():
            with zipfile.ZipFile(file) as archive:
                (facts,) = [archive.read(name).decode() for name in archive.namelist() if name.endswith(".dist-info/WHEEL")]
            inside = re.findall(r"(?m)^Tag: py3-none-(.+)$", facts)
            self.assertEqual((inside[0], ".".join(inside)), (tag, file.stem.partition("-py3-none-")[2]))

    def test_the_tag_is_what_auditwheel_finds(self) -> None:
        """zig links hak_replay with musl as libc.so, which auditwheel, on a system of glibc, takes for another library."""
        for tag, file in self.wheels.items():
            if IS_MUSL:
                file = self.without(file, "hak_replay")
            said = " ".join(run(sys.executable, "-m", "auditwheel", "show", file).stdout.split())
            self.assertIn(f'is consistent with the following platform tag: "{tag}"', said)

    def without(self, wheel: Path, name: str) -> Path:
        copy = self.folder / "without" / wheel.name
        copy.parent.mkdir()
        with zipfile.ZipFile(wheel) as archive, zipfile.ZipFile(copy, "w") as less:
            for each in archive.namelist():
                text = archive.read(each)
                if each.endswith("/RECORD"):  # by which auditwheel finds files
                    text = b"".join(line for line in text.splitlines(keepends=True) if name.encode() not in line)
                if not each.endswith(name):
                    less.writestr(archive.getinfo(each), text)
        return copy

    def test_nothing_but_libc_is_needed(self) -> None:
        libc = {f"libc.musl-{MACHINE}.so.1", "libc.so"} if IS_MUSL else {
            "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", f"ld-linux-{MACHINE}.so.1"}
        for tag in TAGS:
            for file in self.installed(tag).iterdir():
                needed = re.findall(r"NEEDED\).*\[(.+)\]", run("readelf", "-dW", file).stdout)
                self.assertLessEqual(set(needed), libc, file)

    def test_pip_takes_it_for_these_systems_and_no_other(self) -> None:
        for tag in TAGS:
            self.assertTrue((self.installed(tag) / "libhakmem.so").is_file())
        for tag in OTHERS:
            with self.subTest(tag=tag):
                self.assertIn("No matching distribution", self.pip("download", tag, "-d", self.folder / "none").stderr)

    def test_unpacked_where_it_is_not_for_it_says_so(self) -> None:
        libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
        why = f"is for musl, and this system has {libc}" if MACHINE == os.uname().machine else f"is for {MACHINE}, and this machine is"
        for tag in TAGS:
            done = run(sys.executable, "-m", "hakmem", "path", PYTHONPATH=str(self.installed(tag).parents[1]))
            self.assertRegex(done.stderr, r"\Ahakmem: [^\n]+\n\Z")
            self.assertIn(why, done.stderr)
            self.assertEqual((done.returncode, done.stdout), (2, ""))

    @unittest.skipUnless(HAS_LOADER, "no musl here")
    def test_the_library_serves(self) -> None:
        self.assertRegex(run(OWNS).stdout, r"\A\S+ not owned\n\Z")
        for tag in TAGS:
            library = str(self.installed(tag) / "libhakmem.so")
            done = run(OWNS, LD_PRELOAD=library)
            self.assertEqual((done.stdout, done.stderr, done.returncode), (f"{library} owned\n", "", 0))

    @unittest.skipUnless(HAS_LOADER, "no musl here")
    def test_the_programs_start(self) -> None:
        """Each says what it misses."""
        for tag in TAGS:
            programs = sorted(self.installed(tag).glob("hak_*"))
            self.assertEqual(len(programs), 5 if IS_MUSL else 6)
            for program in programs:
                with self.subTest(program=program):
                    done = run(*EMULATOR, program)
                    self.assertRegex(done.stdout + done.stderr, r'usage: hak_|there is no process in this trace|"kind":"trace"')
                    self.assertIn(done.returncode, (0, 2, 125))

    @unittest.skipUnless(IS_MUSL and HAS_LOADER and MACHINE == os.uname().machine, "a libc that is not here, or another machine")
    def test_exec_by_its_files(self) -> None:
        """By this interpreter, as one of musl is not to be had."""
        library = self.installed(*TAGS)
        hakmem = [sys.executable, "-m", "hakmem", "exec", "--build", str(library)]
        path = {"PYTHONPATH": str(ROOT / "cli")}
        done = run(*hakmem, "--", OWNS, **path)
        self.assertEqual((done.stdout, done.stderr, done.returncode), (f"{library}/libhakmem.so owned\n", "", 0))
        done = run(*hakmem, "--stats", "--", OWNS, **path)
        self.assertEqual((done.stdout, done.returncode), (f"{library}/libhakmem.so owned\n", 0))
        self.assertIn("served       by HAKMEM", done.stderr)
        done = run(*hakmem, "--", "/bin/true", **path)
        self.assertRegex(done.stderr, r"\Ahakmem: [^\n]+ is linked with glibc, and libhakmem.so with musl[^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
