# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the viewing commands are given that is not as it should be: a full disk, profiles of other versions or damaged ones, a
process that becomes another one while it is looked at, and one whose tables are scribbled over. Each is one line."""

from __future__ import annotations

import io
import os
import random
import subprocess
import time
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from asked import LIBRARY
from support import BUILD, COMMAND, Scratch, clean_environment, end, heap_profile, program
from test_streams import can_mount
from test_watch import HELD, PYTHON, Begun

from hakmem import cli
from hakmem.base.exit import carry_out

ROUNDS = 12 * int(os.environ.get("HAK_TEST_SCALE", "1"))
SECONDS_MOST = 60
NO_ROOM = "no space left on device"
ASKED = (("top", "--once"), ("explain",), ("profile", "--seconds", "0.1"), ("report", "--seconds", "0.1"))


def carried_out(*words: str) -> tuple[int, str]:
    """A command, without a process of its own: its status, and what it says on stderr."""
    errors = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(errors):
        status = carry_out(lambda: cli.carry_out(list(words)))
    return status, errors.getvalue()


class FullDisk(Scratch):
    """A small tmpfs, in a namespace of its own. Files of commands on it: test_streams.py."""

    def on_full_disk(self, command: str) -> list[str]:
        """What is printed, and what lies there after it."""
        script = ("mount -t tmpfs -o size=64k none /mnt && cd /mnt && echo old >page.html && echo old >out.pb.gz && "
                  f"head -c 70000 /dev/zero >fill 2>/dev/null; {command}; echo status $?; ls; cat page.html out.pb.gz")
        ended = subprocess.run(["unshare", "-m", "sh", "-c", script], env=clean_environment(), capture_output=True, text=True, check=False)
        return (ended.stderr + ended.stdout).splitlines()

    def setUp(self) -> None:
        super().setUp()
        if not can_mount():
            self.skipTest("this user cannot mount")

    def test_a_program_runs_on(self) -> None:
        """Without its samples, and says so once."""
        own = f"{COMMAND} exec --build {BUILD}"
        said = self.on_full_disk(f"{own} --watch=/mnt/w -- {program('traced')} >/dev/null")
        self.assertRegex(said[0], r"^hakmem: profile_table: /mnt/w\.\d+ cannot be made; no samples are kept$")
        self.assertEqual(said[1:], ["status 0", "fill", "out.pb.gz", "page.html", "old", "old"])
        said = self.on_full_disk(f"{own} --profile=/mnt/p.gz --set profile_bytes=1 -- {program('traced')} >/dev/null")
        self.assertIn(f"  heap profile not written: /mnt/p.gz: {NO_ROOM}", said)
        self.assertEqual(said[-6:], ["status 0", "fill", "out.pb.gz", "page.html", "old", "old"])


class Files(Begun):
    """Profiles and tables of samples that are none."""

    def files(self) -> tuple[Path, Path]:
        """A profile, and a table."""
        process = self.watched("--watch=" + str(self.folder / "table"))
        end(process)
        return heap_profile(self.folder), self.folder / f"table.{process.pid}"

    def asked(self, file: Path, other: Path) -> None:
        page = str(self.folder / "page.html")
        for words in (("profile", file), ("profile", "--leaks", "--peak", file), ("report", file, "-o", page), ("profile", other, file),
                      ("report", other, file, "-o", page)):
            status, said = carried_out(*map(str, words))
            self.assertIn(status, (0, 2), said)
            if status:
                self.assert_one_line(said)

    def test_another_version(self) -> None:
        profile, table = self.files()
        for magic in (b"HAKPRO01", b"HAKPRO99", b"HAKPROxx"):
            table.write_bytes(magic + table.read_bytes()[8:])
            for words in (("profile", table), ("report", table), ("profile", profile, table), ("report", profile, table)):
                said = f"hakmem: {table}: a table of samples, of another version of HAKMEM\n"
                self.assertEqual(carried_out(*map(str, words)), (2, said))

    def test_damaged_ones(self) -> None:
        """Cut, written over, or with bytes changed."""
        kinds, chance = self.files(), random.Random(5)
        for number in range(ROUNDS):
            with self.subTest(number=number):
                data = bytearray(kinds[number % 2].read_bytes())
                at = chance.randrange(len(data) if number % 3 else 1500)
                if number % 4 == 0:
                    del data[at:]
                else:
                    more = chance.choice((1, 8, 4000))
                    data[at : at + more] = chance.randbytes(len(data[at : at + more]))
                broken = self.folder / "broken"
                broken.write_bytes(data)
                self.asked(broken, kinds[0])


class Processes(Begun):
    def test_one_that_becomes_another_while_it_is_watched(self) -> None:
        """Its table stays, and what is resident is another program's: no answer of both."""
        code = "import os\n" + HELD + "; os.environ.clear(); os.execv('/bin/sleep', ['sleep', '60'])"
        process = self.watched("--watch", code=code)
        page = str(self.folder / "page.html")
        asked = subprocess.Popen([COMMAND, "report", str(process.pid), "--seconds", "5", "-o", page], stderr=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        time.sleep(2.5)  # for the command's first look on a busy machine
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        out, errors = asked.communicate(timeout=SECONDS_MOST)
        said = f"hakmem: process {process.pid} became another program while it was watched\n"
        self.assertEqual((asked.returncode, errors), (2, said), out)
        self.assertFalse(Path(page).exists())

    def test_scribbled_tables(self) -> None:
        """Words of its tables are chance, zeros and ones: an answer or one line, within a minute."""
        for seed in range(2):
            chance = random.Random(seed)
            process = self.begun(PYTHON, "-c", HELD, LD_PRELOAD=LIBRARY)
            self.scribble(process.pid, chance)
            for words in ASKED:
                more = ("-o", str(self.folder / "page.html")) if words[0] == "report" else ()
                said = subprocess.run([COMMAND, words[0], str(process.pid), *words[1:], *more], env=clean_environment(),
                                      capture_output=True, text=True, check=False, timeout=SECONDS_MOST)
                self.assertIn(said.returncode, (0, 2), said.stderr)
                if said.returncode:
                    self.assert_one_line(said.stderr)
            end(process)

    def scribble(self, pid: int, chance: random.Random) -> None:
        """Over what is writable of the library, and where its tables may lie. The process waits for a line meanwhile."""
        maps = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
        found = [[int(word, 16) for word in line[0].split("-")] for line in maps
                 if "w" in line[1] and (len(line) < 6 or "libhakmem" in line[5])]
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
            for _ in range(4000):
                first, after = chance.choice(found)
                memory.seek(chance.randrange(first, min(after, first + chance.choice((512, 1 << 16))), 8))
                memory.write(chance.choice((0, (1 << 64) - 1, chance.getrandbits(64), first, chance.getrandbits(12))).to_bytes(8, "little"))


if __name__ == "__main__":
    unittest.main()
