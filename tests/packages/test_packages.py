# SPDX-License-Identifier: MIT OR Apache-2.0
"""packaging/debian and packaging/rpm agree with the tree: version, exported names, what is installed, who may do what."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
DEBIAN, SPEC = ROOT / "packaging/debian", ROOT / "packaging/rpm/hakmem.spec"
PACKAGES = ["libhakmem0", "libhakmem-secure0", "libhakmem-dl", "libhakmem-dev", "hakmem"]
sys.path.insert(0, str(ROOT / "scripts"))

import dist  # noqa: E402
import package  # noqa: E402


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


class Debian(unittest.TestCase):
    def test_the_version_is_the_headers(self) -> None:
        self.assertRegex(text(DEBIAN / "changelog"), rf"\Ahakmem \({re.escape(dist.version())}-\w+\) ")

    def test_the_packages(self) -> None:
        self.assertEqual(re.findall(r"^Package: (.*)$", text(DEBIAN / "control"), re.MULTILINE), PACKAGES)
        for name in PACKAGES:
            self.assertTrue((DEBIAN / f"{name}.install").is_file(), name)

    def test_both_kinds_are_for_the_same_machines(self) -> None:
        said = re.findall(r"^Architecture: (.*)$", text(DEBIAN / "control"), re.MULTILINE)
        self.assertEqual([line.split() for line in said], [[*package.ARCHITECTURES]] * len(PACKAGES))
        self.assertIn(f"ExclusiveArch:  {' '.join(package.ARCHITECTURES.values())}\n", text(SPEC))
        for cpu in package.ARCHITECTURES.values():
            self.assertTrue((ROOT / f"src/arch/{cpu}.h").is_file(), cpu)
        self.assertEqual((package.folder_of("deb", package.own_arch()).name, package.is_foreign(package.own_arch())), ("deb", False))

    def test_native_builds_take_versions_of_symbols(self) -> None:
        """By debhelper a file of that name would stand before libc's table of symbols in every build."""
        self.assertFalse((DEBIAN / "shlibs.local").exists())
        self.assertIn("-Ldebian/shlibs.cross\nendif", text(DEBIAN / "rules"))

    def test_another_machine_needs_its_compiler(self) -> None:
        for kind in ("deb", "rpm"):
            with mock.patch.object(package.shutil, "which", lambda name: None if "-gcc" in name else name):
                foreign = next(arch for arch in package.ARCHITECTURES if package.is_foreign(arch))
                with self.assertRaisesRegex(package.CannotBuild, rf"^\w+-linux-gnu-gcc not found: .* crossbuild-essential-{foreign}$"):
                    package.refuse_without_tools(kind, foreign)
                package.refuse_without_tools(kind, package.own_arch())

    def test_symbols_are_those_of_the_abi_list(self) -> None:
        for name in ("libhakmem", "libhakmem-secure"):
            with self.subTest(name):
                rows = text(DEBIAN / f"{name}0.symbols").splitlines()
                names = {row.split()[0].replace("@Base", "") for row in rows[1:]}
                listed = {row.split()[0] for row in text(ROOT / f"abi/{name}.so.symbols").splitlines() if row[0] != "#"}
                self.assertEqual(rows[0].split()[:2], [f"{name}.so.{dist.version().split('.')[0]}", f"{name}0"])
                self.assertEqual(names - {"HAKMEM_0.1@HAKMEM_0.1", "HAKMEM_EXPERIMENTAL@HAKMEM_EXPERIMENTAL"}, listed)

    def test_scripts_can_be_run_and_are_sound(self) -> None:
        for script in (DEBIAN / "rules", DEBIAN / "tests/consumer", DEBIAN / "tests/command"):
            self.assertTrue(script.stat().st_mode & 0o100, script)
        for script in ("consumer", "command"):
            self.assertEqual(subprocess.run(["sh", "-n", DEBIAN / "tests" / script], check=False).returncode, 0)

    def test_the_licence_is_the_trees(self) -> None:
        words = text(ROOT / "LICENSE-MIT").partition("Permission")[2].split()
        said = text(DEBIAN / "copyright").replace("\n .\n", "\n\n").partition("Permission")[2].partition("License: Apache")[0]
        self.assertEqual(said.split(), words)


class Rpm(unittest.TestCase):
    def test_the_version_is_the_headers(self) -> None:
        self.assertIn(f"global hak_version {dist.version()}}}", text(SPEC))

    def test_both_install_the_same(self) -> None:
        """By their last names; each system has folders of its own."""
        debian = {Path(line.split()[0]).name for name in PACKAGES for line in text(DEBIAN / f"{name}.install").splitlines()}
        rpm = {Path(line).name.removesuffix("*") for line in re.findall(r"^%\{_?\w+\}.*$", text(SPEC), re.MULTILINE)}
        rpm = {"hakmem" if name in ("%{own}", "%{module}") else name for name in rpm}
        rpm = {"*.a" if name.endswith(".a") else name for name in rpm}
        self.assertEqual({name.removesuffix("*") for name in debian} - {""} | {"*.a"}, rpm | {"*.a"})


class Containers(unittest.TestCase):
    def test_the_recipes(self) -> None:
        """Instructions that container.py knows; the archive's version in the one that builds."""
        known = {"FROM", "ARG", "COPY", "RUN", "ENV", "USER", "CMD"}
        debian, alpine = (text(ROOT / f"packaging/container/{name}.Dockerfile") for name in ("debian", "alpine"))
        self.assertEqual({line.split()[0] for line in debian.splitlines() if line and not line.startswith("#")}, known)
        self.assertEqual({*re.findall(r"hakmem-(\d[\d.]*\d)", alpine)}, {dist.version()})
        for script in (ROOT / "tests/packages/container.py", ROOT / "tests/foreign.sh"):
            self.assertTrue(script.stat().st_mode & 0o100, script)


if __name__ == "__main__":
    unittest.main()
