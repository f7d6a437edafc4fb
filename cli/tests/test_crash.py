# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem crash`: the text of a guarded block's report, read again. What the library writes: tests/process/pooled_test.py."""

from __future__ import annotations

import struct
import tempfile
import unittest
from pathlib import Path

from support import hakmem

from hakmem.reading.symbols import build_id_of

ERROR = "hakmem: guard: use after free: write to 0x7f0000001008, 8 B into a freed block of 24 B\n"
STACKS = "hakmem: guard: faulted, thread 3: 0x401136\nhakmem: guard: taken, thread 3: 0x401200 0x401300\n"
IMAGE = "hakmem: guard: image 0x401000 to 0x402000 offset 0x1000 id 00ff, /no/such/{name}\n"


class Texts(unittest.TestCase):
    def told(self, text: str) -> str:
        ended = hakmem("crash", "-", stdin=text)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return ended.stdout

    def test_a_file_that_is_gone(self) -> None:
        """Offsets in the file, of calls the byte before the one that they return to."""
        lines = self.told(ERROR + STACKS + IMAGE.format(name="program")).splitlines()
        self.assertEqual(lines, [
            "use after free: write to 0x7f0000001008, 8 B into a freed block of 24 B",
            "  faulted, thread 3", "    /no/such/program+0x1136",
            "  taken, thread 3", "    /no/such/program+0x11ff", "    /no/such/program+0x12ff"])

    def test_no_image(self) -> None:
        self.assertIn("    0x4011ff\n", self.told(ERROR + STACKS))

    def test_several_among_other_lines(self) -> None:
        text = f"server: begins\n2026-11-28 server[7]: {ERROR}{STACKS}noise\n" + ERROR.replace("use after free", "overflow") + STACKS
        told = self.told(text)
        self.assertEqual(told.count("  faulted, thread 3\n"), 2)
        self.assertIn("\n\noverflow: write to", told)

    def test_a_hostile_name_steers_no_terminal(self) -> None:
        told = self.told(ERROR + STACKS + IMAGE.format(name="a\x1b[31mb"))
        self.assertNotIn("\x1b", told)

    def test_names_that_are_no_files(self) -> None:
        """Too long, of another kind, with a zero: the offset, as where the file is gone."""
        for name in ("a" * 300, "a\0b", "../../tmp", "../../dev/zero"):
            self.assertIn("+0x11ff", self.told(ERROR + STACKS + IMAGE.format(name=name)), name)
        self.assertIn("+0x11ff", self.told(ERROR + STACKS + IMAGE.format(name="program").replace("00ff", "ab" * 300)))

    def test_a_program_whose_sections_say_that_they_are_endless(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        hurt, data = Path(holder.name) / "program", bytearray(Path("/bin/true").read_bytes())
        sections, = struct.unpack_from("<Q", data, 40)
        for at in range(sections + 32, len(data) - 8, 64):  # sizes
            data[at:at + 8] = (24 << 57).to_bytes(8, "little")
        hurt.write_bytes(data)
        text = (ERROR + STACKS + IMAGE).replace("/no/such/{name}", str(hurt)).replace("00ff", build_id_of(hurt))
        self.assertIn("    " + str(hurt) + "+0x11ff", self.told(text))

    def test_a_hostile_text_takes_no_time(self) -> None:
        """Frames of images, each of every image: seconds at most, of what would take hours."""
        images = "".join(f"hakmem: guard: image {n << 16:#x} to {n + 1 << 16:#x} offset 0x0 id 00, /no/{n}\n" for n in range(20000))
        frames = "".join(f"hakmem: guard: taken, thread 3: {n << 16 | 5:#x}\n" for n in range(20000))
        self.assertLess(len(self.told(ERROR + images + frames).splitlines()), 200)
        self.assertLess(len(self.told(ERROR * 20000).splitlines()), 300)

    def test_what_is_no_report(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        cut = Path(holder.name) / "cut"
        cut.write_text(STACKS)
        for file in (str(cut), "/dev/null", holder.name, f"{holder.name}/none"):
            ended = hakmem("crash", file)
            self.assertEqual(ended.returncode, 2, file)
            self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)


if __name__ == "__main__":
    unittest.main()
