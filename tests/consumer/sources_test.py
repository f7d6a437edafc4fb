# SPDX-License-Identifier: MIT OR Apache-2.0
"""The source archive (`make dist`) in projects of someone else: CMake's FetchContent, a Meson subproject, Conan.

Each compiles HAKMEM as a part of the project or of a package, and its program proves whose malloc it has
(project/consumer.c). Conan is tried where HAK_TEST_CONAN names its command (`make consumers`), not in CI.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONSUMER = Path(__file__).resolve().parent
CONAN = os.environ.get("HAK_TEST_CONAN")
FLAGS_OF_MESON = {"-fdiagnostics-color=always"}


def run(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], cwd=cwd, env={**os.environ, **variables},
                          capture_output=True, text=True, check=False)


def flags(build: Path, target: str) -> set[str]:
    """With what that target's hakmem.c is compiled, but for where it lies."""
    said = subprocess.run(["ninja", "-C", str(build), "-t", "compdb"], capture_output=True, text=True, check=True).stdout
    commands = [entry["command"] for entry in json.loads(said)
                if target in entry["output"] and entry["file"].endswith("src/api/hakmem.c")]
    words = {word.strip("'") for word in commands[0].split()}
    return {word for word in words if re.match(r"-f|-O|-std=|-DHAK_", word) and not word.startswith("-ffile-prefix-map")}


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="hakmem-consumers-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        header = (ROOT / "include/hakmem/hakmem.h").read_text(encoding="utf-8")
        cls.version = ".".join(re.findall(r"^#define HAK_VERSION_\w+ (\d+)", header, re.MULTILINE))
        cls.archive = cls.folder / f"hakmem-{cls.version}.tar.gz"
        subprocess.run([sys.executable, ROOT / "scripts/dist.py", "-o", cls.archive], check=True, capture_output=True)

    def succeeds(self, *command: str | Path, cwd: Path | None = None, **variables: str) -> str:
        done = run(*command, cwd=cwd or self.folder, **variables)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_cmake_fetches_it(self) -> None:
        build = self.folder / "fetched"
        self.succeeds("cmake", "-S", CONSUMER / "fetched", "-B", build, "-G", "Ninja", f"-DHAKMEM_ARCHIVE={self.archive}",
                      "-DCMAKE_BUILD_TYPE=Debug")  # compiled in a third of the time
        self.succeeds("cmake", "--build", build)
        self.assertEqual(self.succeeds(build / "linked"), "")
        self.assertFalse(list((build / "_deps/hakmem-build").glob("libhakmem-*")), "what is not linked is not built")

    def test_meson_has_it_as_a_subproject(self) -> None:
        project, build = self.folder / "meson", self.folder / "meson-build"
        shutil.copytree(CONSUMER / "meson", project)
        shutil.copy(CONSUMER / "project/consumer.c", project)
        (project / "subprojects/packagefiles").mkdir()
        shutil.copy(self.archive, project / "subprojects/packagefiles")
        wrap = project / "subprojects/hakmem.wrap"
        wrap.write_text(wrap.read_text(encoding="utf-8").replace("@VERSION@", self.version), encoding="utf-8")
        self.succeeds("meson", "setup", build, project)
        if os.environ.get("HAK_TEST_BUILD"):
            cmake = flags(Path(os.environ["HAK_TEST_BUILD"]), "/hak_main_") - {"-DHAK_ASAN=0", "-DHAK_TSAN=0"}
            self.assertEqual(flags(build, "libhakmem-core") - FLAGS_OF_MESON, cmake)
        self.succeeds("meson", "configure", build, "-Dc_args=-O0")  # compiled in a third of the time
        self.succeeds("ninja", "-C", build)
        for program in ("linked", "override", "secure"):
            self.assertEqual(self.succeeds(build / program), "")

    def test_meson_configures_for_another_machine(self) -> None:
        """With the file of docs/guide/build-systems.md; other machines than HAKMEM's are refused in a line."""
        page = (ROOT / "docs/guide/build-systems.md").read_text(encoding="utf-8")
        text = re.sub("^    ", "", page[page.index("    [binaries]"):].partition("\n\nRust")[0], flags=re.MULTILINE)
        if not shutil.which("aarch64-linux-gnu-gcc"):
            self.skipTest("aarch64-linux-gnu-gcc is not installed")
        for cpu, build in (("aarch64", self.folder / "cross"), ("s390x", self.folder / "other")):
            file = self.folder / f"{cpu}.ini"
            file.write_text(text.replace("aarch64'\n", f"{cpu}'\n"), encoding="utf-8")
            done = run("meson", "setup", "--cross-file", file, build, ROOT, cwd=self.folder)
            self.assertEqual(done.returncode == 0, cpu == "aarch64", done.stdout)
        self.assertIn("HAKMEM runs on Linux on x86-64 and AArch64, 64-bit and little-endian", done.stdout)
        self.assertIn("-linux-gnu-gcc", str(run("ninja", "-C", self.folder / "cross", "-t", "compdb", cwd=self.folder).stdout))

    @unittest.skipUnless(CONAN, "sources: Conan is tried by `make consumers`")
    def test_conan_makes_a_package(self) -> None:
        self.succeeds("tar", "-xf", self.archive)
        sources, home = self.folder / f"hakmem-{self.version}", str(self.folder / "conan-home")
        self.succeeds(CONAN or "", "profile", "detect", CONAN_HOME=home)
        self.succeeds(CONAN or "", "create", ".", cwd=sources, CONAN_HOME=home)
        project = self.folder / "conan"
        shutil.copytree(CONSUMER / "conan", project)
        shutil.copytree(CONSUMER / "project", self.folder / "project")
        self.succeeds(CONAN or "", "install", ".", "--output-folder", "build", cwd=project, CONAN_HOME=home)
        self.succeeds("cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release",
                      "-DCMAKE_TOOLCHAIN_FILE=build/conan_toolchain.cmake", cwd=project)
        self.succeeds("cmake", "--build", "build", cwd=project)
        self.assertEqual(self.succeeds(project / "build/linked"), "")
        refused = run(CONAN or "", "create", ".", "-o", "hakmem/*:override=False", cwd=sources, CONAN_HOME=home)
        self.assertIn("libhakmem.so overrides malloc; what does not is static: shared=False", refused.stderr)


if __name__ == "__main__":
    unittest.main()
