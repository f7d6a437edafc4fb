# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem learn` and `hakmem decisions`: processes that learn, rings and logs by hand, and one line for everything wrong."""

from __future__ import annotations

import csv
import io
import os
import random
import signal
import struct
import subprocess
import unittest
from pathlib import Path

from support import BUILD, COMMAND, Scratch, clean_environment, end_groups, groups_of, hakmem

from hakmem.base.errors import Refusal
from hakmem.learning.decisions import HEADER, ROW, ring_of
from hakmem.learning.policy import read_policy
from hakmem.process.program import system_python

# Break-even is then shorter than the sleep: nothing that waits is worth keeping.
COSTS = {"HAKMEM_LAB_COST_PAGE": "100", "HAKMEM_LAB_COST_CALL": "100", "HAKMEM_PRICE": "lean",
         "HAKMEM_LAB_LEARN_KEEP": "on"}
BLOCKS = "import time\nfor n in range(40):\n    b = bytearray(4 << 20); del b; time.sleep(0.02)\n"
PYTHON = system_python()
PATIENCE_SECONDS = 30


def row(number: int, to: int = 0, keep: int = 0, origin: int = 5) -> bytes:
    return ROW.pack(number, 1000 * number, 0x400010, keep, 3, 9, 1 << 16, 2 << 16, 28, to, origin)


def ring(count: int, rows: int = 512, maps: bytes = b"400000-500000 r-xp 00001000 08:01 77 /nowhere/prog\n\0\0") -> bytes:
    """As it is after so many decisions."""
    latest = [row(max(n, (count - n) // rows * rows + n)) if n <= count else bytes(ROW.size) for n in range(1, rows + 1)]
    return HEADER.pack(b"HAKDEC01", rows, ROW.size, count) + b"".join(latest) + maps


def windows(count: int, shift: int | None = None) -> bytes:
    """A log of windows with the threshold to be tried. What a window costs is chance; from `shift` on it is ten times that."""
    chance, pages, rows = random.Random(1), 0, []
    for n in range(count):
        pages += chance.randrange(900, 1100) * (10 if shift is not None and n >= shift else 1)
        rows.append(struct.pack("<16Q", n * 10**6, 256 * n, 0, pages, 0, 0, 640000, 300, 250, 40, 1, 0, 0, 1, 0, 0))
    return struct.pack("<8sIIQ104x", b"HAKWIN02", 128, 0, count) + b"".join(rows)


class Rings(Scratch):
    def written(self, data: bytes) -> str:
        path = self.folder / "ring.1"
        path.write_bytes(data)
        return str(path)

    def test_numbers(self) -> None:
        for count, first in ((0, None), (1, 1), (511, 1), (512, 2), (1300, 790)):
            found = [each.number for each in ring_of(ring(count), count, "it").decisions]
            self.assertEqual(found, list(range(first, count + 1)) if first else [])

    def test_what_the_writer_tore_is_left_out(self) -> None:
        """Nine more came while it was read, and the tenth is being written."""
        found = [each.number for each in ring_of(ring(600), 609, "it").decisions]
        self.assertEqual(found, list(range(99, 601)))
        self.assertEqual(ring_of(ring(600), 9999, "it").decisions, [])

    def test_a_row_of_another_number_is_left_out(self) -> None:
        data = bytearray(ring(5))
        data[HEADER.size + ROW.size : HEADER.size + 2 * ROW.size] = row(77)
        self.assertEqual([each.number for each in ring_of(bytes(data), 5, "it").decisions], [1, 3, 4, 5])

    def test_table(self) -> None:
        ended = hakmem("decisions", self.written(ring(7)), "--last", "2")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(ended.stdout, r" 7 +0\.0 +prog\+0x1010, 3 deep +4 – 5 MiB +1 ×\* → 0 +9 +2\.00 → 1\.00")
        self.assertIn("7 decisions in all, 2 shown", ended.stdout)

    def test_keep_times_are_told_by_what_is_near(self) -> None:
        data = bytearray(ring(2))
        data[HEADER.size : HEADER.size + ROW.size] = row(1, to=3, keep=50_000_000)
        said = hakmem("decisions", self.written(bytes(data))).stdout
        self.assertIn("200 ms* → 50 ms", said)
        self.assertIn("200 ms* → 0", said)

    def test_csv(self) -> None:
        rows = list(csv.DictReader(io.StringIO(hakmem("decisions", self.written(ring(7)), "--csv").stdout)))
        self.assertEqual([each["number"] for each in rows], list("1234567"))
        self.assertEqual((rows[0]["site"], rows[0]["from"], rows[0]["paid_from"]), ("prog+0x1010", "1", "2.0000"))

    def test_one_line(self) -> None:
        foreign = HEADER.pack(b"HAKDEC01", 512, 40, 0) + bytes(30000)
        huge = HEADER.pack(b"HAKDEC01", 1 << 31, ROW.size, 0) + bytes(30000)
        counts = [HEADER.pack(b"HAKDEC01", 512, ROW.size, count) + ring(3)[HEADER.size :] for count in (4_784_128, (1 << 64) - 1)]
        for data in (b"", b"HAK", b"HAKCNT01" + bytes(99), ring(3)[:20], ring(3)[:9000], foreign, huge, *counts):
            ended = hakmem("decisions", self.written(data))
            self.assert_one_line(ended.stderr)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        for asked in (str(self.folder), str(self.folder / "none"), "999999999", str(os.getpid())):
            self.assert_one_line(hakmem("decisions", asked).stderr)

    def test_cut_anywhere(self) -> None:
        data = ring(3, rows=4, maps=b"")
        for end in range(len(data)):
            with self.assertRaises(Refusal):
                ring_of(data[:end], 3, "it")

    def test_a_process_that_writes_none_is_told_how(self) -> None:
        self.assertIn("hakmem exec --set mode=evolving --set lab_learn_keep=on --set decisions_file=", hakmem("decisions", str(os.getpid())).stderr)


class Learning(Scratch):
    def learn(self, code: str, *options: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        arguments = ["--build", str(BUILD), "-o", str(self.policy), *options, "--", PYTHON, "-c", code]
        ended = hakmem("learn", *arguments, **COSTS)
        self.assertEqual(ended.returncode, status, ended.stderr)
        self.assertFalse([path for path in self.folder.iterdir() if path.name.startswith(".hakmem")])
        return ended

    @property
    def policy(self) -> Path:
        return self.folder / "a policy"

    def test_runs_go_on_from_each_other(self) -> None:
        ended = self.learn(BLOCKS + "print('its own')", "--runs", "1")
        self.assertEqual(ended.stdout, "its own\n")
        first = read_policy(self.policy)
        self.assertIn(0, first.arms())
        said = self.learn(BLOCKS, "--runs", "2").stderr
        second = read_policy(self.policy)
        self.assertGreater(second.rows[0].weight, first.rows[0].weight)
        self.assertIn(f"hakmem exec --set mode=frozen --set 'policy_file={self.policy}' -- {PYTHON}", said)
        self.assertRegex(said, r"by break-even, 0\.\d+ of it")
        self.assertRegex(said, r"in the last run: [1-9]\d* waits")

    def test_a_program_that_fails(self) -> None:
        self.learn(BLOCKS, "--runs", "1")
        before = self.policy.read_bytes()
        ended = self.learn(BLOCKS + "raise SystemExit(7)", status=7)
        self.assert_one_line(ended.stderr)
        self.assertIn("run 1 ended with status 7", ended.stderr)
        self.assertEqual(self.policy.read_bytes(), before)

    def test_a_program_that_writes_none(self) -> None:
        ended = self.learn(BLOCKS + "import os; os._exit(0)", status=3)
        self.assert_one_line(ended.stderr)
        self.assertFalse(self.policy.exists())

    def test_a_program_without_big_blocks_has_a_past(self) -> None:
        self.assertRegex(self.learn("x = [str(n) for n in range(99999)]", "--runs", "2").stderr,
                         r"\n2 runs of \d+\.\d\d s, largest heap \d+\.\d MiB; ")
        policy = read_policy(self.policy)
        self.assertEqual((policy.rows, policy.past.runs if policy.past else 0), ([], 2))
        self.assertRegex(hakmem("policy", str(self.policy)).stdout, r"\A2 runs of ")

    def test_a_folder_has_each_program_of_a_command(self) -> None:
        folder = self.folder / "some folder"
        code = "import subprocess, sys\nsubprocess.run(['perl', '-e', 'my @a = map { [$_] } 1 .. 60000'], check=True)"
        words = ["--build", str(BUILD), "-o", f"{folder}/", "--", PYTHON, "-c", code]
        said = hakmem("learn", *words)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        names = sorted(file.name for file in folder.iterdir())
        self.assertEqual(len(names), 2, names)
        self.assertRegex(" ".join(names), r"\Aperl-[0-9a-f]{16}\.policy python3[.\d]*-[0-9a-f]{16}\.policy\Z")
        self.assertIn(f"hakmem exec --set 'policy_file={folder}/' -- {PYTHON}", said.stderr)
        self.assertEqual(hakmem("learn", *words[:3], str(folder), *words[4:]).returncode, 0, "it need not end in /")
        (folder / "zz.policy").write_text("no policy")
        table = hakmem("policy", str(folder)).stdout
        self.assertRegex(table, r"perl-\S+ +2 ")
        self.assertRegex(table, r"zz .*damaged")

    def test_what_a_folder_cannot_have(self) -> None:
        (self.folder / "file").write_text("")
        for words, status in (((f"{self.folder}/file/",), 1), (("/proc/none/",), 1), ((f"{self.folder / ('x' * 300)}/",), 2),
                              ((f"{self.folder}/a/", "--mode", "frozen"), 2)):
            ended = hakmem("learn", "--build", str(BUILD), "-o", *words, "--", "/bin/true")
            self.assert_one_line(ended.stderr)
            self.assertEqual(ended.returncode, status, ended.stderr)
        ended = hakmem("learn", "--build", str(BUILD), "-o", f"{self.folder}/", "--", "/bin/true")
        self.assertEqual(ended.returncode, 3)
        self.assert_one_line(ended.stderr)
        self.assertEqual(hakmem("policy", str(self.folder)).returncode, 2)

    def test_stopped_it_keeps_what_whole_runs_learnt(self) -> None:
        self.learn(BLOCKS, "--runs", "1")
        before = self.policy.read_bytes()
        command = [COMMAND, "learn", "--build", BUILD, "-o", self.policy, "--", PYTHON, "-c",
                   "print('on', flush=True)\n" + BLOCKS + "time.sleep(99)"]
        variables, pipe = clean_environment(**COSTS), subprocess.PIPE
        process = subprocess.Popen(command, env=variables, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
        assert process.stdout
        process.stdout.readline()
        self.addCleanup(end_groups, process, groups_of(process))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual(self.policy.read_bytes(), before)
        self.assertEqual([path.name for path in self.folder.iterdir()], [self.policy.name])

    def test_one_line(self) -> None:
        self.policy.write_text("no policy")
        for arguments, status in (
            (("-o", self.policy), 2), (("-o", self.folder / "none" / "a"), 1), (("--mode", "frozen"), 2), (("--runs", "0"), 2),
        ):
            ended = hakmem("learn", "--build", str(BUILD), *map(str, arguments), "--", PYTHON, "-c", "pass")
            self.assert_one_line(ended.stderr)
            self.assertEqual(ended.returncode, status)
        self.assertEqual(self.policy.read_text(), "no policy")

    def test_decisions_of_a_process_that_lives(self) -> None:
        """One of its children was forked: what it decides is not in the file."""
        code = BLOCKS + ("import os, sys\nif not (child := os.fork()): time.sleep(99)\n"
                         "print(child, flush=True); sys.stdin.read()")
        preload = {"LD_PRELOAD": str(BUILD / "libhakmem.so"), "HAKMEM_MODE": "evolving",
                   "HAKMEM_DECISIONS_FILE": str(self.folder / "ring")}
        with subprocess.Popen([PYTHON, "-c", code], env=clean_environment(**COSTS, **preload), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            assert process.stdout and process.stdin
            child = int(process.stdout.readline())
            live = hakmem("decisions", str(process.pid))
            forked = hakmem("decisions", str(child))
            os.kill(child, signal.SIGKILL)
            process.stdin.close()
        self.assertRegex(live.stdout, r"python3[^ ]*\+0x[0-9a-f]+|\(python3")
        self.assertRegex(live.stdout, r"→ 0 ")
        self.assert_one_line(forked.stderr)
        dead = hakmem("decisions", str(self.folder / f"ring.{process.pid}"))
        self.assertEqual(dead.stdout, live.stdout)

    def test_decisions_are_decided_anew(self) -> None:
        variables = {"LD_PRELOAD": str(BUILD / "libhakmem.so"), "HAKMEM_MODE": "evolving",
                     "HAKMEM_DECISIONS_FILE": str(self.folder / "ring"), "HAKMEM_LAB_LEARN_LOG": str(self.folder / "log")}
        subprocess.run([PYTHON, "-c", BLOCKS], env=clean_environment(**COSTS, **variables), check=True)
        (made,), (log,) = self.folder.glob("ring.*"), self.folder.glob("log.*[0-9]")
        replay = ("decisions", "--build", str(BUILD), "--replay", str(log))
        same = hakmem(*replay, str(made))
        self.assertEqual((same.returncode, same.stderr), (0, ""))
        self.assertRegex(same.stdout, r"the same, byte for byte: [1-9]\d* decision")
        self.assertRegex(hakmem(*replay).stdout, r"→ 0 ")
        data = bytearray(made.read_bytes())
        data[HEADER.size + 8] ^= 1
        made.write_bytes(data)
        other = hakmem(*replay, str(made))
        self.assertEqual((other.returncode, other.stderr), (1, ""))
        self.assertIn(f"differs from byte {HEADER.size + 8} on", other.stdout)
        for bad in (replay[:-1] + (str(made),), ("decisions",), replay + (str(log),)):
            ended = hakmem(*bad)
            self.assert_one_line(ended.stderr)
            self.assertEqual(ended.returncode, 2)


if __name__ == "__main__":
    unittest.main()
