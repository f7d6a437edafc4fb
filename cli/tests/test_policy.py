# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem policy`: a policy read line by line, and one line for everything that is wrong with it."""

from __future__ import annotations

import unittest
from pathlib import Path

from support import ROOT, Scratch, hakmem

from hakmem.base.errors import Refusal
from hakmem.learning.policy import BREAK_EVEN, HUGE_LEAST_KIB, LEAST_US, policy_of, size_text, sum_of

PAID = " ".join(str(65536 * n) for n in range(8))
LINES = [
    "hakmem-policy 2", f"process 5 128 {PAID}", f"bin 28 5 256 {PAID}",
    "module 00ff libone.so", f"site 0x4d0c9d 0 28 0 12800 {PAID}", f"site 0x4d0c9d 116 28 2 32768 {PAID}",
    "module - a name with blanks", f"site 0x10 4294967295 127 7 1 {PAID}",
]


def sealed(lines: list[str]) -> str:
    text = "".join(f"{line}\n" for line in lines)
    return f"{text}end {len(lines)} {sum_of(text.encode()):016x}\n"


class Policies(Scratch):
    def written(self, text: str) -> Path:
        path = self.folder / "a.policy"
        path.write_text(text)
        return path

    def test_rows(self) -> None:
        policy = policy_of(sealed(LINES).encode(), "it")
        self.assertEqual([(row.arm, row.bin) for row in policy.rows], [(5, None), (5, 28), (0, 28), (2, 28), (7, 127)])
        self.assertEqual([row.module.name for row in policy.sites if row.module],
                         ["libone.so", "libone.so", "a name with blanks"])
        self.assertEqual((policy.rows[0].waits, policy.rows[0].fetches(BREAK_EVEN)), (1, 5))

    def test_sum_of_nothing_and_of_a_letter(self) -> None:
        self.assertEqual((sum_of(b""), sum_of(b"a")), (0xCBF29CE484222325, 0xAF63DC4C8601EC8C))

    def test_printed(self) -> None:
        ended = hakmem("policy", str(self.written(sealed(LINES))))
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(ended.stdout, r"libone.so +0x4d0c9d +116 +4 – 5 MiB +1/8 × +256 ")
        self.assertIn("5 rows: 3 of sites", ended.stdout)

    def test_sizes_of_bins(self) -> None:
        found = {n: size_text(n) for n in (0, 3, 4, 28, 127)}
        self.assertEqual(found, {0: "to 40 KiB", 3: "56 – 64 KiB", 4: "64 – 80 KiB", 28: "4 – 5 MiB", 127: "from 112 TiB"})

    def test_a_wrong_line_is_named(self) -> None:
        wrong = {
            1: ("hakmem-policy 3", "", "HAKMEM-POLICY 2"),
            2: (f"process 8 128 {PAID}", f"process 5 0 {PAID}", f"process 5 32769 {PAID}", f"process 5 128 {PAID} 0",
                f"process  5 128 {PAID}", f"process +5 128 {PAID}", "process", "thread 5", "", f"process 5 128 {PAID} ",
                f"process 5 128 {PAID[:-6]}1342177281", f"site 0x1 0 28 0 128 {PAID}", f"process 5 ١ {PAID}"),
            3: (f"bin 128 5 256 {PAID}", f"bin -1 5 256 {PAID}"),
            4: ("module 00f libone.so", "module 00FF libone.so", "module 00ff", "module 00ff ", "module  libone.so",
                f"module {'00' * 33} a"),
            5: (f"site 4d0c9d 0 28 0 12800 {PAID}", f"site 0x 0 28 0 12800 {PAID}", f"site 0xA 0 28 0 12800 {PAID}",
                f"site 0x1 4294967296 28 0 12800 {PAID}", f"site 0x1\t0 28 0 12800 {PAID}", "end 4 0000000000000000"),
        }
        for at, texts in wrong.items():
            for text in texts:
                with self.subTest(text), self.assertRaisesRegex(Refusal, rf"\Ait: line {at}: [^\n]+\Z"):
                    policy_of(sealed([*LINES[: at - 1], text, *LINES[at:]]).encode(), "it")

    def test_a_wrong_end(self) -> None:
        whole = sealed(LINES)
        changed = whole.replace("0x4d0c9d 0", "0x4d0c9e 0")
        fewer = whole.replace("end 8", "end 7")
        for text in (changed, fewer, whole + "\n", whole + "end 9", whole[:-1], whole[:-2] + "\n"):
            with self.subTest(text[-40:]), self.assertRaisesRegex(Refusal, r"\Ait: line (9|10): [^\n]+\Z"):
                policy_of(text.encode(), "it")

    def test_cut_anywhere(self) -> None:
        whole = sealed(LINES).encode()
        for end in range(len(whole)):
            with self.assertRaises(Refusal):
                policy_of(whole[:end], "it")

    def test_the_next_run_is_decided_as_in_the_library(self) -> None:
        past, huge = ((ROOT / "src" / file).read_text() for file in ("learn/past.c", "retain/huge.h"))
        for text in (f"LEAST_US = {LEAST_US},", "MARGIN_PART = 4,"):
            self.assertIn(text, past)
        self.assertIn(f"HAK_HUGE_LEAST = {HUGE_LEAST_KIB >> 10} << 20", huge)

    def test_one_line(self) -> None:
        for text in ("", "\0\xff\n", "\x1b[31m\n"):
            ended = hakmem("policy", str(self.written(text)))
            self.assert_one_line(ended.stderr)
            self.assertEqual(ended.returncode, 2)
        (self.folder / "empty").mkdir()
        for path in (self.folder / "empty", self.folder / "none"):
            self.assert_one_line(hakmem("policy", str(path)).stderr)


if __name__ == "__main__":
    unittest.main()
