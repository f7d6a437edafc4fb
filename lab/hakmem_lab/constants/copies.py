# SPDX-License-Identifier: MIT OR Apache-2.0
"""A copy of the tree in which a variant is built; the tree itself is never changed.

Three things of the copy are made the same in every run: the beginning of the model's clock, random numbers, and the
number of processors. And hak_model says more there: memory over time, and kernel calls.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from hakmem_lab.constants.rows import Row, edits, replaced

PARTS = ("CMakeLists.txt", "cmake", "src", "tools", "include", "bench", "packaging/wheel", "cli/hakmem")
SOURCES = ("src", "tools", "cmake")
PROCESSORS = 2

CLOCK = """\
  static const uint64_t first_ns = 1000 * (uint64_t)64000000;
  const char *phase = getenv("CONSTANTS_PHASE_MS");
  model.base_ns = first_ns + (phase == NULL ? 0 : strtoull(phase, NULL, 10)) * 1000000;
  model.coarse_ns = 4000000;"""
SAYS = """\
  fprintf(stderr, "%llu %llu\\n", (unsigned long long)page_us, (unsigned long long)model.clock_ns / 1000);
  return (struct kernel_work){"""
EXTRA = (
    ("tools/kernel.c", "#include <stdbool.h>", "#include <stdbool.h>\n#include <stdio.h>\n#include <stdlib.h>"),
    ("tools/kernel.c", "long __real_hak_kernel(", "static uint64_t page_us;\nlong __real_hak_kernel("),
    ("tools/kernel.c", "  model.clock_ns = ns;",
     "  if (ns > model.clock_ns) page_us += pages_now()->resident * (ns - model.clock_ns) / 1000;\n"
     "  model.clock_ns = ns;"),
    ("tools/kernel.c", "  model.running = true;", f"{CLOCK}\n  model.running = true;"),
    ("tools/kernel.c", "  return (struct kernel_work){", SAYS),
    ("src/os/os.c", "uint64_t hak_os_random(void) {", "uint64_t hak_os_random(void) {\n  return 0x9e3779b97f4a7c15u;"),
    ("src/os/os.c", "static uint32_t count_processors(void) {",
     f"static uint32_t count_processors(void) {{\n  return {PROCESSORS};"),
)


class BuildError(Exception):
    """A variant does not compile."""


def change(path: Path, name: str, text: str, instead: str) -> None:
    path.write_text(replaced(name, path.read_text(), text, instead))


def copy_parts(root: Path, folder: Path) -> None:
    """Files that are the same keep their times, so that what was built of them stays."""
    for part in PARTS:
        files = [root / part] if (root / part).is_file() else sorted((root / part).rglob("*"))
        for path in (path for path in files if path.is_file() and "__pycache__" not in path.parts):
            to = folder / path.relative_to(root)
            to.parent.mkdir(parents=True, exist_ok=True)
            if not to.is_file() or to.read_bytes() != path.read_bytes():
                shutil.copyfile(path, to)


class Copy:
    """A folder with the copied tree and its build."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder, self.build_folder = root, folder, folder / "build"
        if folder.exists():
            shutil.rmtree(folder / "src", ignore_errors=True)
            shutil.rmtree(folder / "tools", ignore_errors=True)
        copy_parts(root, folder)
        for file, text, instead in EXTRA:
            change(folder / file, file, text, instead)
        self.run("cmake", "-G", "Ninja", "-S", str(folder), "-B", str(self.build_folder), "-DCMAKE_BUILD_TYPE=Release",
                 "-DHAK_BUILD_TESTS=OFF")

    def run(self, *argv: str) -> None:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError("\n".join((done.stdout + done.stderr).splitlines()[-20:]))

    def key(self) -> str:
        """Of all that is built."""
        digest = hashlib.sha256()
        for part in SOURCES:
            for path in sorted((self.folder / part).rglob("*")):
                if path.is_file():
                    digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()

    def build(self, out: Path) -> None:
        self.run("ninja", "-C", str(self.build_folder), "hak_model")
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self.build_folder / "hak_model", out)

    def build_variant(self, row: Row, side: str, out: Path) -> None:
        changed = edits(row, side)
        before = {file: (self.folder / file).read_text() for file, _, _ in changed}
        try:
            for file, text, instead in changed:
                change(self.folder / file, row.name, text, instead)
            self.build(out)
        finally:
            for file, text in before.items():
                (self.folder / file).write_text(text)
