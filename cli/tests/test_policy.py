# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem policy`: a policy read line by line, and one line for everything that is wrong with it."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from support import ROOT, Scratch, hakmem

from hakmem.base.errors import Refusal
from hakmem.learning.learners import BREAK_EVEN, KINDS, THRESHOLD_KIB
from hakmem.learning.policy import HUGE_LEAST_KIB, LEAST_PART, LEAST_US, policy_of, size_text, sum_of

PAID = " ".join(str(65536 * n) for n in range(8))
LINES = [
    "hakmem-policy 3", f"process 5 128 {PAID}", f"bin 28 5 256 {PAID}",
    "module 00ff libone.so", f"site 0x4d0c9d 0 28 0 12800 {PAID}", f"site 0x4d0c9d 116 28 2 32768 {PAID}",
    "module - a name with blanks", f"site 0x10 4294967295 127 7 1 {PAID}",
]

LEARNERS = [
    f"kind runs 2 256 {PAID}", f"kind slabs 0 1 {PAID}", f"level runs 0 5 640 {PAID}", f"level slabs 64 7 128 {PAID}",
    "class 5376 77", "capacity 1024 9 20 6 65535 1 2 3 4 5 6 7 8", "arm threshold 4 4", "arm slack 3 96", "arm place 1 0",
    "rating 0 384000 3 0", "pulls slack 5 16 262144 0", "pulls place 1 0 0 1",
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
            1: ("hakmem-policy 4", "hakmem-policy 03", "", "HAKMEM-POLICY 3"),
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

    def test_rows_of_learners(self) -> None:
        policy = policy_of(sealed([LINES[0], *LEARNERS]).encode(), "it")
        self.assertEqual([row.kind for row in policy.learnt], list(KINDS))
        self.assertEqual(policy.learnt[4].numbers, (5376, 77))
        ended = hakmem("policy", str(self.written(sealed([LINES[0], *LEARNERS]))))
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        for text in (r"free runs +keep time 1/8 ×; 2 waits, 1\.00 fetches", r"pages of slabs +from 64 MiB: keep time",
                     r"size class +blocks of 5,376 B; 77 blocks", r"blocks of 1,024 B: 511 in a magazine, 6/8 of it at a flush",
                     r"threshold of big blocks +1\.5 MiB; tried in 4 windows", r"misfit share +14 %; tried in 96 windows",
                     r"place of lasting runs +off; ", r"threshold's rating +512 KiB: 1500 points, 3 matches",
                     r"misfit share's pulls +42 %: 16 pulls, mean cost 0\.250 of the range", r"place's pulls +off: 0 pulls, dropped"):
            self.assertRegex(ended.stdout, text)

    def test_a_wrong_number_of_a_learner_is_named(self) -> None:
        for line in LEARNERS:
            *words, last = line.split(" ")
            for wrong in (f"{line} 0", " ".join(words), f"{line} ", f"{line[:-len(last)]}{1 << 63}", f"{line[:-len(last)]}-1"):
                with self.subTest(wrong), self.assertRaisesRegex(Refusal, r"\Ait: line 2: [^\n]+\Z"):
                    policy_of(sealed([LINES[0], wrong]).encode(), "it")

    def test_rows_of_learners_are_those_of_the_library(self) -> None:
        """The words, the numbers of each and the thresholds; the bounds: tests/process/policy_test.py."""
        table = (ROOT / "src" / "learn" / "rows.c").read_text()
        self.assertEqual(re.findall(r'(?:KIND|ROWS)\("([a-z ]+)"', table), list(KINDS))
        units = re.search(r"units\[HAK_ARM_THRESHOLDS\] = \{(.*?)\}", (ROOT / "src" / "base" / "arms.c").read_text())
        assert units
        self.assertEqual(tuple(512 * (float(word) or 1.5) for word in units[1].split(",")), THRESHOLD_KIB)

    def test_the_next_run_is_decided_as_in_the_library(self) -> None:
        past, huge = ((ROOT / "src" / file).read_text() for file in ("learn/past.c", "retain/huge.h"))
        for text in (f"LEAST_US = {LEAST_US},", f"LEAST_PART = {LEAST_PART},", "MARGIN_PART = 4,"):
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
