# SPDX-License-Identifier: MIT OR Apache-2.0
"""The library is compiled for little-endian x86-64 and AArch64, and says of others that it is not made for them."""

import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def preprocessed(*flags: str) -> str:
    """What the compiler says of arch.h; nothing if the header suits the processor of these flags."""
    command = ["gcc", *flags, "-E", "-I", str(ROOT / "src"), "-include", "arch/arch.h", "-x", "c", "/dev/null", "-o", "/dev/null"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


class Processors(unittest.TestCase):
    def test_this_one(self) -> None:
        self.assertEqual(preprocessed(), "")

    def test_32_bits(self) -> None:
        self.assertIn("made for Linux with pointers of 64 bits", preprocessed("-m32"))
        self.assertIn("made for Linux with pointers of 64 bits", preprocessed("-mx32"))

    def test_big_endian(self) -> None:
        flags = ("-U__BYTE_ORDER__", "-D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__")
        self.assertIn("made for little-endian processors", preprocessed(*flags))

    def test_another(self) -> None:
        self.assertIn("made for x86-64 and AArch64", preprocessed("-U__x86_64__"))


if __name__ == "__main__":
    unittest.main()
