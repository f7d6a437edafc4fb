# SPDX-License-Identifier: MIT OR Apache-2.0
"""What was learnt, written down: kept for the next run, refused where it is damaged, on demand, decided anew from a
journal, and shared between processes.

Run with the variables of process_case.py set.
"""

import errno
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import unittest
from pathlib import Path

from learn_case import CHEAP, HEADER, LEARN_CLASS, LearnCase, LITTLE_MIB, sealed
from process_case import MIB, PAGE, environment, limit, program, run

class Policy(LearnCase):
    def expect_complaint(self, pattern: str) -> None:
        result = self.frozen()
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, rf"^hakmem: policy_file: {re.escape(str(self.policy))}{pattern}\n$")

    def test_it_is_known_from_the_beginning(self) -> None:
        self.learn()
        result = self.frozen()
        self.expect_quiet_success(result)
        left, waits, _ = (int(word) for word in result.stdout.split())
        self.assertLessEqual(left, LITTLE_MIB)
        self.assertEqual(waits, 0, "what is frozen does not learn")

    def test_who_learns_goes_on_from_it(self) -> None:
        before = self.learn()
        self.expect_quiet_success(self.frozen(periods="3", mode="evolving"))
        lines = (*before, *self.policy.read_text().splitlines())
        process = [int(line.split()[2]) for line in lines if line.startswith("process")]
        self.assertGreater(process[1], process[0], "it remembers more waits")

    def test_sites_are_told_by_module_and_offset(self) -> None:
        lines = self.learn()
        (module,) = [line for line in lines if line.startswith("module")]
        self.assertRegex(module, r"^module [0-9a-f]{40} process_learner$")
        self.assertTrue(any(re.match(r"site 0x[0-9a-f]+ \d+ \d+ 0 ", line) for line in lines), lines)

    def test_who_enters_a_sandbox_writes_it_before(self) -> None:
        self.learner("4", "sandbox", HAKMEM_MODE="evolving", HAKMEM_POLICY_FILE=str(self.policy))
        self.expect_quiet_success(self.frozen())

    def test_none(self) -> None:
        self.expect_complaint(r" cannot be read \(error 2\)")
        self.expect_quiet_success(self.frozen(mode="evolving"))

    def test_a_folder(self) -> None:
        self.policy.mkdir()
        self.expect_complaint(r" cannot be read \(error 21\)")

    def test_a_pipe_stays_one(self) -> None:
        os.mkfifo(self.policy)
        result = self.frozen(periods="3", mode="shadow")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"^hakmem: policy_file: .* cannot be written \(error 22\)\n$")
        self.assertTrue(self.policy.is_fifo())

    def test_who_may_write_no_file_goes_on(self) -> None:
        settings = CHEAP | {"HAKMEM_MODE": "shadow", "HAKMEM_POLICY_FILE": str(self.policy)}
        result = run(program("learner"), "3", before=limit(resource.RLIMIT_FSIZE, 0), **settings)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"^hakmem: policy_file: .* cannot be written \(error 27\)\n$")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_stale(self) -> None:
        lines = [re.sub("^module [0-9a-f]{4}", "module 0000", line) for line in self.learn()]
        self.policy.write_text(sealed(lines))
        self.expect_complaint(r": \d+ of its \d+ rows ignored: their modules were built anew")

    def test_foreign(self) -> None:
        lines = [re.sub("^module .*", "module 00ff other", line) for line in self.learn()]
        self.policy.write_text(sealed(lines))
        self.expect_complaint(r": \d+ of its \d+ rows ignored: no module of theirs is loaded")

    def test_no_site_of_a_module_without_build_id_is_taken_for_another(self) -> None:
        lines = [re.sub("^module .*", "module - process_learner", line) for line in self.learn()]
        self.policy.write_text(sealed(lines))
        self.expect_complaint(r": \d+ of its \d+ rows ignored: their modules were built anew")

    def test_damaged(self) -> None:
        good = "\n".join(self.learn()) + "\n"
        whole = sealed(good.splitlines())
        short = ("", "\n", "hakmem-policy 0\n", "\0" * 9)
        for damaged in (*short, good, whole + "\n", whole[:-2], whole[:-1], "x" * 100000):
            self.policy.write_text(damaged)
            self.expect_complaint(r" ignored: line \d+ is not as it was written")

    def test_any_byte_that_changes_is_found(self) -> None:
        self.learn()
        whole = self.policy.read_bytes()
        dice = random.Random(1)
        for _ in range(40):
            at = dice.randrange(len(whole))
            self.policy.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << dice.randrange(8)]) + whole[at + 1 :])
            self.expect_complaint(r" ignored: (line \d+ is not as it was written|it was written by a newer HAKMEM)")

    def test_a_newer_one_stays(self) -> None:
        newer = sealed(["hakmem-policy 4", "something new"])
        self.policy.write_text(newer)
        line = f"hakmem: policy_file: {self.policy} ignored: it was written by a newer HAKMEM\n"
        for mode, said in (("frozen", line), ("evolving", line), ("shadow", "")):
            result = self.frozen(periods="3", mode=mode)
            self.assertEqual((result.returncode, result.stderr), (0, said), mode)
            self.assertEqual(self.policy.read_text(), newer, mode)

    def test_numbers_that_no_row_has(self) -> None:
        first = "hakmem-policy 1"
        row = " 512 1 2 3 4 5 6 7 8"
        paid = "1 2 3 4 5 6 7"
        for line in (
            *(f"process 5 {weight} {paid} 8" for weight in (0, 32769)),
            *(f"process 5 512 {paid} {most}" for most in (83886081, 10**23)),
            *(f"process {fields}" for fields in (f"8{row}", f"5{row} 9", f" 5{row}", f"-5{row}")),
            f"bin 128 5{row}",
            f"site 0x12 0 27 5{row}",
            *(f"module {fields}" for fields in ("0g x", "0 x", "00", "00 ", " x")),
            *(f"kind {fields}" for fields in ("runs 8 1 1 1 1 1 1 1 1 1", "big 5 1 1 1 1 1 1 1 1 1", "slabs 5 0 1 1 1 1 1 1 1 1")),
            f"level runs {64 << 20} 5{row}",
            f"level slabs 0 255{row}",
            *(f"class {fields}" for fields in ("15 1", "32769 1", "5376 0", f"5376 {(1 << 30) + 1}", "5376", "5376 1 1")),
            *(f"capacity {fields} 1 2 3 4 5 6 7 8" for fields in (
                "32769 9 20 6 1", "1024 2 20 6 1", "1024 11 20 6 1", "1024 9 12 6 1", "1024 9 21 6 1", "1024 9 20 7 1",
                "1024 9 20 6 0", "1024 9 20 6 65536", "1024 9 20 6", "1024 9 20 6 1 1")),
            f"capacity 1024 9 20 6 1 1 2 3 4 5 6 7 {1 << 44}",
            *(f"arm {fields}" for fields in ("threshold 13 1", "slack 6 1", "place 2 1", "place 255 1", "price 1 1", "place 1")),
            *(f"rating {fields}" for fields in ("12 384000 1 0", "0 768001 1 0", f"0 384000 {(1 << 24) + 1} 0", "0 384000 1 2")),
            *(f"pulls {fields}" for fields in ("slack 6 1 1 0", f"place 2 1 1 0", f"place 1 1 {(1 << 40) + 1} 0", "threshold 1 1 1 0")),
        ):
            self.policy.write_text(sealed([first, line]))
            self.expect_complaint(" ignored: line 2 is not as it was written")

    def test_a_disk_that_takes_nothing_keeps_the_old_one(self) -> None:
        self.policy.write_text("old")
        os.chmod(self.folder, 0o500)
        self.addCleanup(os.chmod, self.folder, 0o700)
        if os.access(self.folder, os.W_OK):
            self.policy = Path("/proc/self/policy")
        result = self.frozen(periods="3", mode="shadow")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"^hakmem: policy_file: .* cannot be written \(error \d+\)\n$")


class OnDemand(LearnCase):
    """hak_policy_save and hak_policy_load."""

    def answers(self, *words: str, mode: str = "evolving", **settings: str) -> list[int]:
        result = run(program("policy"), *words, HAKMEM_MODE=mode, **(CHEAP | settings))
        self.expect_quiet_success(result)
        return [int(word) for word in result.stdout.split()]

    def test_what_is_loaded_is_what_was_saved(self) -> None:
        again = self.folder / "again"
        self.assertEqual(self.answers("4", "save", str(self.policy)), [0])
        self.assertEqual(self.policy.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.answers("0", "load", str(self.policy), "save", str(again), mode="baseline"), [0, 0])
        kept, saved = (set(file.read_text().splitlines()[:-1]) for file in (again, self.policy))
        self.assertLess(kept, saved, "all but the sites, none of which asked in this process")
        self.assertTrue(all(line.startswith(("module", "site")) for line in saved - kept))

    def test_the_path_of_the_setting(self) -> None:
        self.assertEqual(self.answers("4", "save", "-", "load", "-"), [errno.EINVAL] * 2)
        said = self.answers("4", "save", "-", "load", "-", HAKMEM_POLICY_FILE=str(self.policy))
        self.assertEqual(said, [0, 0])

    def test_who_learnt_nothing_writes_over_nothing(self) -> None:
        self.policy.write_text("old")
        for mode in ("off", "baseline", "frozen", "evolving"):
            self.assertEqual(self.answers("0", "save", str(self.policy), mode=mode), [errno.ENODATA])
        self.assertEqual(self.policy.read_text(), "old")

    def test_a_forked_child_may_ask(self) -> None:
        self.assertEqual(self.answers("4", "fork", "save", str(self.policy)), [0])
        self.assertTrue(self.policy.exists())

    def test_bad_paths(self) -> None:
        gone, long, folder = str(self.folder / "no" / "x"), str(self.folder / ("x" * 600)), self.folder / "folder"
        folder.mkdir()
        for path, saved, loaded in (
            (gone, errno.ENOENT, errno.ENOENT),
            ("", errno.ENOENT, errno.ENOENT),
            (long, errno.ENAMETOOLONG, errno.ENAMETOOLONG),
            (str(folder), errno.EINVAL, errno.EISDIR),
        ):
            self.assertEqual(self.answers("4", "save", path, "load", path), [saved, loaded], path)
        self.assertEqual(list(self.folder.iterdir()), [folder])

    def test_devices_and_pipes_stay(self) -> None:
        os.mkfifo(self.policy)
        for path in ("/dev/null", "/dev/full", self.policy):
            said = self.answers("4", "save", str(path), "load", str(path))
            self.assertEqual(said, [errno.EINVAL, errno.EPERM], path)
        self.assertTrue(self.policy.is_fifo())

    def test_a_damaged_file_is_not_taken(self) -> None:
        self.answers("4", "save", str(self.policy))
        self.policy.write_bytes(self.policy.read_bytes()[:-1])
        said = self.answers("0", "load", str(self.policy), "save", str(self.folder / "x"))
        self.assertEqual(said, [errno.EBADMSG, errno.ENODATA])

    def test_a_newer_file(self) -> None:
        self.policy.write_text(newer := sealed(["hakmem-policy 5"]))
        said = self.answers("4", "save", str(self.policy), "load", str(self.policy))
        self.assertEqual(said, [errno.EPROTONOSUPPORT] * 2)
        self.assertEqual(self.policy.read_text(), newer)

    def test_who_may_write_no_file(self) -> None:
        self.policy.write_text("old")
        settings = CHEAP | {"HAKMEM_MODE": "evolving"}
        words = ("4", "save", str(self.policy))
        result = run(program("policy"), *words, before=limit(resource.RLIMIT_FSIZE, 0), **settings)
        self.assertEqual((result.returncode, result.stdout), (0, f"{errno.EFBIG}\n"))
        self.assertEqual(self.policy.read_text(), "old")

    def test_a_full_disk(self) -> None:
        """A disk of one page, which is taken."""
        fill = 'mount -t tmpfs -o size=4k none "$1" && head -c 4096 /dev/zero > "$1/x"'
        room = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
        if subprocess.run([*room, fill, "sh", self.folder], capture_output=True, check=False).returncode:
            self.skipTest("no file system can be mounted here")
        command = f'{fill} && LD_PRELOAD=$2 "$3" 4 save "$1/policy" && ls "$1"'
        words = ("sh", str(self.folder), os.environ["HAK_TEST_LIBRARY"], program("policy"))
        result = run(*room, command, *words, preload=False, HAKMEM_MODE="evolving", **CHEAP)
        self.expect_quiet_success(result, f"{errno.ENOSPC}\nx\n")

    def test_threads(self) -> None:
        self.assertEqual(self.answers("4", "save", str(self.policy), "threads", str(self.policy)), [0, 0])
        self.assertEqual([file.name for file in self.folder.iterdir()], ["policy"])


class Learners(LearnCase):
    """What a process learnt of size classes and magazines, the next begins with."""

    BOTH = {"HAKMEM_LAB_LEARN_CLASS": "on", "HAKMEM_LAB_LEARN_CACHES": "on"}
    USUAL, OWN = 5632, 5376  # bytes of the class for 5,136, and of the class that is learnt

    def begins(self, *words: str, mode: str = "evolving", learns: bool = True, folder: bool = False) -> tuple[int, int]:
        settings = {"HAKMEM_MODE": mode, "HAKMEM_COUNT_CALLS": "on"} | (self.BOTH if learns else {})
        path = f"{self.folder}/" if folder else str(self.policy)
        result = run(program("begins"), *words, HAKMEM_POLICY_FILE=path, **settings)
        self.expect_quiet_success(result)
        room, refills = (int(word) for word in result.stdout.split())
        return room, refills

    def learnt(self) -> list[str]:
        """The rows of the classes of both sizes."""
        return [line for line in self.policy.read_text().splitlines() if re.match(r"class 5376 |capacity 1024 ", line)]

    def load(self) -> list[str]:
        """A run that learns; the rows of both sizes."""
        self.begins("load")
        rows = self.learnt()
        self.assertEqual(len(rows), 2, self.policy.read_text())
        return rows

    def deepen(self) -> None:
        """The capacity of 1 KiB becomes 512 blocks: a load on a busy machine may end at 256, which bursts of 400 miss."""
        lines = self.policy.read_text().splitlines()[:-1]
        self.policy.write_text(sealed([re.sub(r"^capacity 1024 \d+ ", "capacity 1024 9 ", line) for line in lines]))

    def test_the_next_run_begins_with_it(self) -> None:
        self.load()
        self.deepen()
        room, usual = self.begins(mode="baseline", learns=False)
        self.assertEqual(room, self.USUAL)
        for mode, learns in (("frozen", False), ("evolving", True)):
            room, refills = self.begins(mode=mode, learns=learns)
            self.assertEqual(room, self.OWN, mode)
            self.assertLessEqual(refills, usual / 2, mode)

    def test_a_frozen_run_writes_nothing(self) -> None:
        self.load()
        before = self.policy.read_bytes()
        self.begins("load", mode="frozen", learns=False)
        self.assertEqual(self.policy.read_bytes(), before)

    def test_what_is_off_is_not_used_and_stays(self) -> None:
        before = self.load()
        room, _ = self.begins("load", learns=False)
        self.assertEqual(room, self.USUAL)
        self.assertEqual(self.learnt(), before)

    def test_a_file_of_the_format_before(self) -> None:
        self.policy.write_text(sealed(["hakmem-policy 2", "past 3 60000 70000 1000 0", "process 5 512 1 2 3 4 5 6 7 8"]))
        self.load()
        lines = self.policy.read_text().splitlines()
        self.assertEqual(lines[0], "hakmem-policy 3")
        self.assertTrue(lines[1].startswith("past 4 "), lines)
        self.assertIn("process 5 512 1 2 3 4 5 6 7 8", lines)

    def test_a_tiny_program_wipes_nothing(self) -> None:
        self.load()
        before = self.policy.read_bytes()
        settings = {"HAKMEM_MODE": "evolving", "HAKMEM_POLICY_FILE": str(self.policy)} | self.BOTH
        self.expect_quiet_success(run("/bin/true", **settings))
        rows = [line.split(" ", 2)[:2] for line in before.decode().splitlines()[1:-1]]
        kept = [line.split(" ", 2)[:2] for line in self.policy.read_text().splitlines()[1:-1]]
        self.assertEqual(sorted(kept), sorted(rows))

    def test_twenty_at_once(self) -> None:
        settings = {"HAKMEM_MODE": "evolving", "HAKMEM_POLICY_FILE": f"{self.folder}/"} | self.BOTH
        variables = environment(True, **settings)
        for _ in range(2):
            many = [subprocess.Popen([program("begins"), "load"], env=variables, stdout=subprocess.DEVNULL) for _ in range(20)]
            self.assertEqual([one.wait(200) for one in many], [0] * len(many))
            (self.policy,) = self.folder.iterdir()
            words = [line.split()[:2] for line in self.policy.read_text().splitlines()]
            self.assertEqual((words.count(["class", "5376"]), words.count(["capacity", "1024"])), (1, 1), words)
            self.assertLessEqual(sum(word[0] == "class" for word in words), 4)
        room, _ = self.begins(mode="frozen", learns=False, folder=True)
        self.assertEqual(room, self.OWN)


# Blocks of some sizes, asked for in two places, which wait now shortly and now for long.
BUFFERS = """
import random, time
random.seed(1)
def some(n): return bytearray(n << 20)
def other(n): return bytearray(n << 20)
for n in range(60):
    a = some(random.choice((3, 4, 6)))
    b = other(5)
    time.sleep(random.choice((0.001, 0.02)))
    del a
    time.sleep(0.005)
    del b
    if n == 30: time.sleep(0.4)
"""
PYTHON = "/usr/bin/python3"
CROSS, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
SOURCES = Path(__file__).parents[2]
RING_BYTES = HEADER.size + 512 * 56
JOURNAL = struct.Struct("<8sIIQQ")


@unittest.skipUnless(Path(PYTHON).exists(), "no Python of the system")
class Journal(LearnCase):
    """What a process decided is decided anew from its learn_log, byte for byte."""

    def python(self, mode: str, code: str = BUFFERS) -> tuple[bytes, Path]:
        """The ring and the journal of a run."""
        for old in (*self.folder.glob("d.*"), *self.folder.glob("l.*")):
            old.unlink()
        files = {"HAKMEM_DECISIONS_FILE": str(self.folder / "d"), "HAKMEM_LAB_LEARN_LOG": str(self.folder / "l")}
        settings = CHEAP | files | {"HAKMEM_POLICY_FILE": str(self.policy), "PYTHONMALLOC": "malloc"}
        result = run(PYTHON, "-I", "-c", code, HAKMEM_MODE=mode, **settings)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        (ring,), (journal,) = self.folder.glob("d.*"), self.folder.glob("l.*[0-9]")
        return ring.read_bytes()[:RING_BYTES], journal

    def anew(self, journal: Path, *runner: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([*runner, journal], capture_output=True, check=False)

    def redecide(self, journal: Path) -> subprocess.CompletedProcess[bytes]:
        return self.anew(journal, os.environ["HAK_TEST_REDECIDE"])

    def expect_the_same(self, ring: bytes, journal: Path) -> None:
        found = self.redecide(journal)
        self.assertEqual((found.returncode, found.stderr), (0, b""))
        self.assertEqual(found.stdout, ring)

    def test_the_same_in_each_mode(self) -> None:
        """The second run begins with the policy of the first, the third in another mode."""
        for mode in ("evolving", "evolving", "shadow", "frozen"):
            ring, journal = self.python(mode)
            self.expect_the_same(ring, journal)
            self.assertGreater(JOURNAL.unpack_from(journal.read_bytes())[4], 100)
            self.assertTrue(mode == "frozen" or HEADER.unpack_from(ring)[3] > 0, "something was decided")

    def test_a_child_writes_into_no_journal_of_its_parent(self) -> None:
        code = "import os\nif os.fork():\n    os.wait()\n    os._exit(0)\n" + BUFFERS
        ring, journal = self.python("evolving", code)
        self.expect_the_same(ring, journal)
        self.assertLess(JOURNAL.unpack_from(journal.read_bytes())[4], 20)

    @unittest.skipUnless(shutil.which(CROSS) and shutil.which(EMULATOR), f"no {CROSS} or no {EMULATOR}")
    def test_the_same_on_another_machine(self) -> None:
        tool, learn = str(self.folder / "arm"), SOURCES / "src" / "learn"
        parts = [learn / f"{name}.c" for name in ("leader", "waits", "journal", "keeper")]
        parts += [SOURCES / "src" / "base" / f"{name}.c" for name in ("arms", "bytes")]
        flags = ["-std=gnu11", "-O2", "-static", "-I", SOURCES / "src"]
        subprocess.run([CROSS, *flags, SOURCES / "tools" / "redecide.c", *parts, "-o", tool], check=True)
        ring, journal = self.python("evolving")
        found = self.anew(journal, EMULATOR, tool)
        self.assertEqual((found.returncode, found.stderr), (0, b""))
        self.assertEqual(found.stdout, ring)

    def test_what_is_no_journal(self) -> None:
        journal = self.folder / "l"
        row = struct.pack("<QQQIIIHBB", 1, 1, 1, 1, 1, 0, 0, 1, 0)
        bad = [row[:n] + bytes([value]) + row[n + 1 :] for n, value in ((38, 0), (38, 8), (39, 8), (28, 128), (27, 1))]
        head = (b"HAKTLD01", 40, 0, 9)
        for data, said in (
            (b"", b"not a learn_log"),
            (b"HAKDEC01" + bytes(24), b"not a learn_log"),
            (JOURNAL.pack(b"HAKTLD01", 48, 0, 9, 0), b"a learn_log of another version"),
            (JOURNAL.pack(*head, 10), b"it was full, and its end is missing"),
            (JOURNAL.pack(*head, 2) + row, b"it is cut short"),
            *((JOURNAL.pack(*head, 2) + row + each, b"row 2 is not as it was written") for each in bad),
        ):
            journal.write_bytes(data)
            found = self.redecide(journal)
            self.assertEqual((found.returncode, found.stdout), (1, b""), data)
            self.assertEqual(found.stderr, b"hak_redecide: %s: %s\n" % (bytes(journal), said))
        self.assertEqual(self.redecide(self.folder).returncode, 1)

    def test_a_file_that_cannot_be_made(self) -> None:
        for path, most in ((self.folder / "no" / "x", resource.RLIM_INFINITY), (self.folder / "x", 1 << 20)):
            settings = CHEAP | {"HAKMEM_MODE": "shadow", "HAKMEM_LAB_LEARN_LOG": str(path)}
            result = run(program("learner"), "1", before=limit(resource.RLIMIT_FSIZE, most), **settings)
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stderr, r"^hakmem: lab_learn_log: cannot make .*; the data stays in memory only\n$")


# The kernel notes a thread's pages by 64.
COUNTED_MIB = 64 * PAGE / MIB


class Between(LearnCase):
    """A peak between two size classes. Peaks are measured by the kernel, from outside."""

    def between(self, *arguments: str, **settings: str) -> tuple[float, int, int]:
        """Peak RSS [MiB] above what was asked for, classes added, room of a block. Without huge pages, which add up to
        2 MiB by chance."""
        out = self.folder / "out"
        settings |= {"HAKMEM_HUGE_PAGES": "off"}
        with out.open("w") as file:
            child = subprocess.Popen([program("between"), *arguments], stdout=file, env=environment(True, **settings))
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = status
        self.assertEqual(status, 0)
        asked, classes, room = (int(word) for word in out.read_text().split())
        return usage.ru_maxrss / 1024 - asked, classes, room

    def test_it_gets_a_class_and_waste_falls(self) -> None:
        for size, room in ((5136, 5376), (2100, 2176), (272, 272)):
            with self.subTest(size):
                usual, none, _ = self.between("grow", str(size), HAKMEM_MODE="baseline")
                own, one, given = self.between("grow", str(size), **LEARN_CLASS)
                self.assertEqual((none, one, given), (0, 1, room))
                self.assertLess(own, usual - 96 / 24 + COUNTED_MIB, "a twenty-fourth of what was asked for, at the least")

    def test_nothing_is_lost_where_blocks_move(self) -> None:
        for sizes in (("5136",), ("272",), ("5136", "100", "600", "3000")):
            with self.subTest(sizes):
                usual, _, _ = self.between(*sizes, HAKMEM_MODE="baseline")
                own, _, _ = self.between(*sizes, **LEARN_CLASS)
                self.assertLessEqual(own, usual + 1)

    def test_none_where_there_is_no_peak(self) -> None:
        for sizes in (("5632",), ("64",), ("4470",), ("100", "1100", "3000", "7000", "30000")):
            with self.subTest(sizes):
                _, classes, _ = self.between(*sizes, **LEARN_CLASS)
                self.assertEqual(classes, 0)

    def test_shadow_decides_only(self) -> None:
        _, classes, room = self.between("grow", "5136", **(LEARN_CLASS | {"HAKMEM_MODE": "shadow"}))
        self.assertEqual((classes, room), (1, 5632))

    def test_a_child_goes_on(self) -> None:
        _, classes, room = self.between("fork", "5136", **LEARN_CLASS)
        self.assertEqual((classes, room), (1, 5376))


if __name__ == "__main__":
    unittest.main()
