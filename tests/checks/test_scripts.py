# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makefile and scripts: the line of `make run`, and two makes in one checkout. Nothing is downloaded: a module venv and a
cmake of the test's own stand for the real ones, and fail when they meet another of their kind at work."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

ALONE = """
mkdir "$work" || { echo "two at once" >&2; exit 9; }
[ ! -e "$hang" ] || sleep 60
sleep 0.2; rmdir "$work"
"""
PIP = """#!/bin/sh
case "$*" in *pip*) ;; *) echo "site: done"; exit ;; esac
work=%s/pip hang=%s/hang
""" + ALONE
VENV = """
import os, pathlib, sys
bin = pathlib.Path(sys.argv[-1]) / "bin"
bin.mkdir(parents=True)
bin.joinpath("python").write_text({pip!r})
bin.joinpath("python").chmod(0o755)
"""
CMAKE = """#!/bin/sh
work=%s/cmake hang=%s/hang
mkdir -p build/release
""" + ALONE
PRINTS_WORDS = """#!/bin/sh
printf '[%s]' "$@"
printf '%s' "$CMD$RUN_LINE"
"""


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class Tree(unittest.TestCase):
    """What a checkout has, as far as the scripts look at it."""

    def setUp(self) -> None:
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hakmem-")))
        for name in ("setup.sh", "build.sh", "site.sh", "lock.sh", "venv.sh", "conan.sh", "alone.sh"):
            if (ROOT / "scripts" / name).is_file():
                self.copy(f"scripts/{name}")
        for name in ("cli/pyproject.toml", "cli/bin/hakmem", "lab/pyproject.toml", "lab/bin/hakmem-lab", "docs/site/requirements.txt", "Makefile", "CMakePresets.json"):
            self.copy(name)
        (self.root / "scripts/packages.txt").write_text("[run]\n[all]\n")
        pip = PIP % (self.root, self.root)
        (self.root / "stubs/venv").mkdir(parents=True)
        (self.root / "stubs/venv/__main__.py").write_text(VENV.format(pip=pip))
        (self.root / "stubs/venv/__init__.py").touch()
        executable(self.root / "stubs/cmake", CMAKE % (self.root, self.root))
        self.variables = os.environ | {
            "PYTHONPATH": str(self.root / "stubs"), "PATH": f"{self.root / 'stubs'}:{os.environ['PATH']}"}

    def copy(self, name: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, self.root / name)

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(command, cwd=self.root, env=self.variables, stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.STDOUT, start_new_session=True)

    def stop(self, *command: str) -> None:
        """In the middle of its work."""
        (self.root / "hang").touch()
        process = self.start(*command)
        while not any((self.root / name).exists() for name in ("pip", "cmake")):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        (self.root / "hang").unlink()
        for name in ("pip", "cmake"):
            shutil.rmtree(self.root / name, ignore_errors=True)

    def ends_well(self, *processes: subprocess.Popen[str]) -> list[str]:
        told = [process.communicate()[0] for process in processes]
        self.assertEqual([process.returncode for process in processes], [0] * len(processes), told)
        return told


class TwoAtOnce(Tree):
    def both(self, *command: str) -> list[str]:
        return self.ends_well(self.start(*command), self.start(*command))

    def test_environments_are_made_one_after_the_other(self) -> None:
        told = "".join(self.both("scripts/setup.sh"))
        self.assertEqual(told.count("making build/venv"), 1, told)  # the second finds it made
        self.assertEqual(self.ends_well(self.start("scripts/setup.sh")), [""])

    def test_sites_are_made_one_after_the_other(self) -> None:
        told = "".join(self.both("scripts/site.sh"))
        self.assertEqual(told.count("getting mkdocs-material"), 1, told)

    def test_conan_is_gotten_once(self) -> None:
        executable(self.root / "build/venv/bin/python", "#!/bin/sh\n")
        command = ("make", "-s", "-o", "build", "consumers")
        told = "".join(self.both(*command))
        self.assertEqual(told.count("getting Conan"), 1, told)
        self.assertEqual(self.ends_well(self.start(*command)), [""])

    def test_packages_are_made_one_after_the_other(self) -> None:
        """Of two kinds, too: one reads what the other makes."""
        for script in ("build/venv/bin/python", "stubs/python3", "scripts/peers.sh", "tests/packages/deb_root.sh"):
            executable(self.root / script, f"#!/bin/sh\nwork={self.root}/pack hang={self.root}/hang\n{ALONE}")
        old = {"deb-root": ["-o", "deb"], "install-table": ["-o", "wheel", "-o", "deb", "-o", "dist"]}
        targets = ("dist", "wheel", "deb", "rpm", "deb-root", "install-table")
        commands = [["make", "-s", "-o", "setup", *old.get(target, []), target] for target in targets]
        self.ends_well(*(self.start(*command) for command in commands))
        self.both("make", "-s", "-o", "setup", "peers")

    def test_presets_are_built_one_after_the_other(self) -> None:
        self.both("scripts/build.sh", "release", "command")


class Interrupted(Tree):
    def test_an_environment_is_made_anew(self) -> None:
        self.ends_well(self.start("scripts/setup.sh"))
        (self.root / "cli/pyproject.toml").write_text("# another\n")
        self.stop("scripts/setup.sh")
        self.assertIn("making build/venv", self.ends_well(self.start("scripts/setup.sh"))[0])

    def test_a_site_is_made_anew(self) -> None:
        self.stop("scripts/site.sh")
        self.assertIn("site: done", self.ends_well(self.start("scripts/site.sh"))[0])

    def test_conan_is_gotten_anew(self) -> None:
        self.stop("scripts/conan.sh")
        self.assertIn("getting Conan", self.ends_well(self.start("scripts/conan.sh"))[0])
        self.assertEqual(self.ends_well(self.start("scripts/conan.sh")), [""])

    def test_a_site_of_another_place_is_made_anew(self) -> None:
        self.ends_well(self.start("scripts/site.sh"))
        moved = self.root.with_name(self.root.name + "-moved")
        shutil.copytree(self.root, moved)
        self.addCleanup(shutil.rmtree, moved)
        self.root = moved
        self.assertIn("getting", self.ends_well(self.start("scripts/site.sh"))[0])

    def test_clean_takes_the_stamps_first(self) -> None:
        said = subprocess.run(["make", "-n", "clean"], cwd=self.root, capture_output=True, text=True, check=True).stdout
        self.assertRegex(said, r"\Arm -f build/venv/stamp build/site/venv/stamp build/conan/stamp "
                               r"build/roots/\*/made\n")


class Line(Tree):
    """What `make run` hands to hakmem."""

    def run_by_make(self, *arguments: str, **variables: str) -> str:
        executable(self.root / "build/venv/bin/hakmem", PRINTS_WORDS)
        for script in ("setup.sh", "build.sh"):
            executable(self.root / "scripts" / script, "#!/bin/sh\n")
        return subprocess.run(["make", "-s", "run", *arguments], cwd=self.root, env=self.variables | variables,
                              capture_output=True, text=True, check=True).stdout

    def test_a_line_comes_as_it_was_typed(self) -> None:
        for line in ("ls /", "a | b", "echo $HOME $$ $(id", "a && 'b c' \"d\" # e", "x;y  ", "echo \\$x %s `id`", "a=1 b"):
            with self.subTest(line=line):
                self.assertEqual(self.run_by_make(f"CMD={line}"), f"[run][--][sh][-c][{line}]")
                self.assertEqual(self.run_by_make(CMD=line), f"[run][--][sh][-c][{line}]")

    def test_no_line_is_the_default_program(self) -> None:
        self.assertEqual(self.run_by_make(), "[run]")
        self.assertEqual(self.run_by_make("CMD= "), "[run]")


if __name__ == "__main__":
    unittest.main()
