# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files that the library writes and reads, where others are at work: in folders that another user may write, in two
containers on one volume, while another process writes into what is mapped; and what a daemon finds in its data file.

Run with the variables of process_case.py set. As root another user is nobody's number; else only the own user plants.
"""

import mmap
import os
import random
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
from collections.abc import Callable
from pathlib import Path

from learn_case import CHEAP, LearnCase, sealed
from process_case import LIBRARY, Result, environment, program, run

PYTHON = "/usr/bin/python3"
NOBODY = 65534
IS_ROOT = os.geteuid() == 0
# Of each setting: what its file begins with, and what it is called behind the number of the process.
FILES = {
    "counters_file": (b"HAKCNT01", ""), "stats_file": (b"HAKSTA02", ""), "decisions_file": (b"HAKDEC01", ""),
    "lab_learn_log": (b"HAKTLD01", ""), "profile_table": (b"HAKPRO03", ""), "profile_file": (b"", ""),
    "trace_file": (b"HAKT", ".0"),
}
BLOCKS = "x = [bytes(3000) for n in range(3000)]"


def settings_in(folder: Path, but: str = "") -> dict[str, str]:
    return {f"HAKMEM_{name.upper()}": str(folder / name) for name in FILES if name != but}


def by_another_user(act: Callable[[], None]) -> None:
    """Where there is none, by this one."""
    child = os.fork()
    if child == 0:
        if IS_ROOT:
            os.setuid(NOBODY)
        act()
        os._exit(0)
    os.waitpid(child, 0)


class Apart(LearnCase):
    def run_after(self, plant: Callable[[int], None], *command: str, **settings: str) -> tuple[Result, int]:
        """`plant` is told the number of the process before it runs the program."""
        number: list[int] = []
        with tempfile.TemporaryFile("w+") as said:
            child = subprocess.Popen(
                command, env=environment(True, PYTHONMALLOC="malloc", **settings), stdout=said, stderr=said,
                preexec_fn=lambda: plant(os.getpid()),
            )
            child.wait(100)
            number.append(child.pid)
            said.seek(0)
            return Result(command, child.returncode, "", said.read()), number[0]


@unittest.skipUnless(Path(PYTHON).exists(), "no Python of the system")
class Planted(Apart):
    """What lies at the names before the process does."""

    def setUp(self) -> None:
        super().setUp()
        self.victim = self.folder / "victim"
        self.victim.write_text("the victim's")

    def names(self, pid: int, shared: Path) -> list[Path]:
        return [shared / f"{name}.{pid}{ending}" for name, (_, ending) in FILES.items()]

    def expect_files(self, shared: Path, pid: int, but: str = "") -> None:
        """One of each kind is this user's, new and whole."""
        for name, (magic, _) in FILES.items():
            if name == but:
                continue
            own = [
                file for file in shared.glob(f"{name}.{pid}*")
                if not file.is_symlink() and file.is_file() and file.stat().st_uid == os.geteuid()
                and file.suffix != ".windows" and file.read_bytes().startswith(magic) and file.stat().st_size
            ]
            self.assertEqual(len(own), 1, f"{name}: {sorted(shared.iterdir())}")
            self.assertEqual((own[0].stat().st_mode & 0o777, own[0].stat().st_nlink), (0o600, 1), name)
        self.assertEqual(list(shared.glob("*.new")), [])

    def expect_unharmed(
        self, act: Callable[[Path], None], mode: int = 0o1777, by: Callable[..., None] = by_another_user, but: str = ""
    ) -> Path:
        shared = Path(tempfile.mkdtemp(dir=self.folder))
        for folder in (self.folder, shared):
            folder.chmod(mode if folder == shared else 0o755)

        def plant(pid: int) -> None:
            by(lambda: [act(path) for path in self.names(pid, shared)] and None)

        result, pid = self.run_after(plant, PYTHON, "-I", "-c", BLOCKS, HAKMEM_MODE="shadow", **settings_in(shared))
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, rf"\A(hakmem: {but}: \S+ cannot be written \(error 22\)\n)\Z" if but else r"\A\Z")
        self.expect_files(shared, pid, but)
        self.assertEqual(self.victim.read_text(), "the victim's")
        return shared

    def test_nothing(self) -> None:
        self.expect_unharmed(lambda path: None)

    def test_files_that_begin_as_the_own_ones(self) -> None:
        def act(path: Path) -> None:
            magic = FILES[path.name.split(".")[0]][0]
            path.write_bytes(magic + b"\xff" * 4088)
            path.chmod(0o666)

        for mode in (0o1777, 0o777):
            shared = self.expect_unharmed(act, mode)
            planted = [file for file in shared.iterdir() if file.stat().st_uid == NOBODY]
            self.assertTrue(all(b"\xff" * 4088 in file.read_bytes() for file in planted), "nothing is written to them")

    def test_symbolic_links(self) -> None:
        for mode in (0o1777, 0o777):
            self.expect_unharmed(lambda path: path.symlink_to(self.victim), mode)

    def test_pipes_and_folders(self) -> None:
        for make in (os.mkfifo, os.mkdir):
            self.expect_unharmed(make, but="profile_file")  # which is written to that name alone

    def test_hard_links_of_the_own_user(self) -> None:
        self.expect_unharmed(lambda path: os.link(self.victim, path), by=lambda act: act())

    def test_symbolic_links_of_the_own_user(self) -> None:
        self.expect_unharmed(lambda path: path.symlink_to(self.victim), by=lambda act: act())

    def test_what_a_process_that_ended_left_is_replaced(self) -> None:
        def act(path: Path) -> None:
            path.write_bytes(b"old" * 2000)

        shared = self.expect_unharmed(act, by=lambda act: act())
        self.assertEqual(len(list(shared.glob("stats_file.*"))), 1)

    def test_a_group_may_read(self) -> None:
        policy = str(self.folder / "policy")
        result, pid = self.run_after(
            lambda pid: os.umask(0o077) and None, program("learner"), "4", HAKMEM_MODE="shadow", HAKMEM_GROUP_READS="on",
            HAKMEM_POLICY_FILE=policy, **CHEAP, **settings_in(self.folder),
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        made = [file for file in self.folder.iterdir() if file != self.victim]
        self.assertEqual(len(made), len(FILES) + 2, "and the policy, and the log of windows")
        self.assertEqual({file.stat().st_mode & 0o777 for file in made}, {0o640})


@unittest.skipUnless(IS_ROOT and Path(PYTHON).exists(), "only root makes containers here")
class Containers(LearnCase):
    """Two processes of number 1 on one volume."""

    SETTINGS = ("stats_file", "counters_file", "profile_table")

    def start(self) -> subprocess.Popen[str]:
        code = "print('ready', flush=True); input()"
        words = [f"HAKMEM_{name.upper()}={self.folder / name}" for name in self.SETTINGS]
        return subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "env", f"LD_PRELOAD={LIBRARY}", *words, PYTHON, "-I", "-c", code],
            env=environment(False, PYTHONMALLOC="malloc"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )

    def wait_until_ready(self, child: subprocess.Popen[str]) -> None:
        assert child.stdout is not None
        if child.stdout.readline() != "ready\n":
            self.skipTest("no namespaces here")

    def end(self, child: subprocess.Popen[str]) -> None:
        child.communicate("\n", timeout=60)
        self.assertEqual(child.returncode, 0)

    def test_each_has_its_own(self) -> None:
        one, other = self.start(), None
        try:
            self.wait_until_ready(one)
            before = {name: (self.folder / f"{name}.1").stat().st_ino for name in self.SETTINGS}
            other = self.start()
            self.wait_until_ready(other)
            for name in self.SETTINGS:
                self.assertEqual((self.folder / f"{name}.1").stat().st_ino, before[name], "the first keeps its file")
                self.assertTrue((self.folder / f"{name}.1.1").is_file())
        finally:
            for child in (one, other):
                if child is not None:
                    self.end(child)
        third = self.start()
        self.wait_until_ready(third)
        for name in self.SETTINGS:
            self.assertNotEqual((self.folder / f"{name}.1").stat().st_ino, before[name], "nobody's any more")
        self.end(third)


class Hostile(Apart):
    """Another process of the user writes anything into what is mapped. What is decided stays as it is."""

    def scribble(self, stop: threading.Event) -> None:
        dice, mapped = random.Random(3), {}
        while not stop.is_set():
            for path in self.folder.glob("*_*.*"):
                if path not in mapped and path.suffix != ".new" and path.stat().st_size:
                    with path.open("r+b") as file:
                        mapped[path] = mmap.mmap(file.fileno(), 0)
            for memory in mapped.values():
                size = min(len(memory), 1 << 18)
                for at in (*range(8, 64, 8), *(8 * dice.randrange(size // 8) for _ in range(64))):
                    if at + 8 <= size:
                        memory[at : at + 8] = dice.choice((b"\xff" * 8, b"\x7f" + bytes(7), dice.randbytes(8)))

    def expect_well(self, *command: str, **settings: str) -> Result:
        stop = threading.Event()
        scribbler = threading.Thread(target=self.scribble, args=(stop,))
        scribbler.start()
        try:
            result, _ = self.run_after(lambda pid: None, *command, **settings, **settings_in(self.folder))
        finally:
            stop.set()
            scribbler.join()
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def test_who_learns(self) -> None:
        out = self.expect_well(program("learner"), "8", HAKMEM_MODE="evolving", HAKMEM_PROFILE_BYTES="4K", **CHEAP).stderr
        left, waits, decisions = (int(word) for word in out.split())
        self.assertLessEqual(left, 2, "what is not worth keeping goes all the same")
        self.assertGreater(min(waits, decisions), 0)
        self.assertLess(max(waits, decisions), 1000, "counters are not read from the file")

    def test_who_has_threads(self) -> None:
        for _ in range(3):
            self.expect_well(program("start_exit"), "joined", HAKMEM_COUNT_CALLS="on", HAKMEM_PROFILE_BYTES="1K")


# What a daemon does: 2 is its data file. Then all that may be complained of.
DAEMON = """
import ctypes, os, shutil, sys
folder, hakmem = sys.argv[1], ctypes.CDLL(None)
os.close(2)
assert os.open(folder + "/data", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600) == 2
os.write(2, b"data")
shutil.rmtree(folder + "/files")
hakmem.hak_set(b"soft_limit", b"1M")
hakmem.hak_set(b"hard_limit", b"1G")
open(folder + "/limits/memory.max", "w").write("lots")
open(folder + "/limits/memory.pressure", "w").write("")
x = [bytearray(1 << 20) for _ in range(200)]
y = [bytes(3000) for _ in range(20000)]
if os.fork() == 0:
    z = [bytes(3000) for _ in range(20000)]
    os._exit(0)
os.wait()
del x
hakmem.malloc_trim(0)
if len(sys.argv) > 2:
    hakmem.malloc_stats()
"""


@unittest.skipUnless(Path(PYTHON).exists(), "no Python of the system")
class Daemon(Apart):
    """After the start nothing is written to descriptor 2 that is neither fatal nor asked for."""

    def data(self, *words: str) -> str:
        for folder in ("files", "limits"):
            (self.folder / folder).mkdir()
        (self.folder / "limits" / "memory.max").write_text("1000000000\n")
        (self.folder / "limits" / "memory.current").write_text("2000000000\n")
        result, _ = self.run_after(
            lambda pid: None, PYTHON, "-I", "-c", DAEMON, str(self.folder), *words, HAKMEM_MODE="shadow",
            HAKMEM_POLICY_FILE=str(self.folder / "files" / "policy"), HAKMEM_CGROUP_DIR=str(self.folder / "limits"),
            **CHEAP, **settings_in(self.folder / "files"),
        )
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return (self.folder / "data").read_text()

    def test_its_data_stays(self) -> None:
        self.assertEqual(self.data(), "data")

    def test_what_was_not_said_is_told_when_asked(self) -> None:
        told = self.data("ask")
        self.assertRegex(told, r"(?m)^  unsaid +[1-9]\d*  complaints withheld")
        self.assertRegex(told, r"(?m)^  the first of the complaints: hakmem: ")


@unittest.skipUnless(Path(PYTHON).exists(), "no Python of the system")
class Unmade(Apart):
    """Files that cannot be made, or that find no room: one line at the start, or counted, and nothing is left."""

    def on_disk(self, size: str, code: str, **settings: str) -> Result:
        """On a disk of that size, one page of which is taken."""
        room = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
        fill = f'mount -t tmpfs -o size={size} none "$1" && head -c 4096 /dev/zero > "$1/x"'
        if subprocess.run([*room, fill, "sh", self.folder], capture_output=True, check=False).returncode:
            self.skipTest("no file system can be mounted here")
        command = f'{fill} && LD_PRELOAD=$2 {PYTHON} -I -c "$3"; ls "$1"'
        words = ("sh", str(self.folder), str(LIBRARY), code)
        return run(*room, command, *words, preload=False, PYTHONMALLOC="malloc", **settings)

    def test_a_full_disk(self) -> None:
        for name in FILES:
            with self.subTest(name):
                path = self.folder / name
                result = self.on_disk("4k", BLOCKS, **{f"HAKMEM_{name.upper()}": str(path)})
                said = rf"\Ahakmem: {name}: (cannot make )?{re.escape(str(path))}\.\d+[^\n]*\n\Z"
                self.assertRegex(result.stderr, said)
                self.assertEqual((result.returncode, result.stdout), (0, "x\n"))

    def test_a_disk_that_becomes_full(self) -> None:
        code = "import ctypes; x = [bytes(700) for n in range(99999)]; ctypes.CDLL(None).malloc_stats()"
        result = self.on_disk("200k", code, HAKMEM_TRACE_FILE=str(self.folder / "t"))
        self.assertRegex(result.stderr, r"(?m)^  unsaid +1  ")
        first = r"hakmem: trace_file: cannot grow /\S+; the trace misses calls"
        self.assertRegex(result.stderr, rf"(?m)^  the first of the complaints: {first}$")

    def test_paths_that_would_steer_a_terminal(self) -> None:
        for name in (*FILES, "policy_file", "cgroup_dir"):
            with self.subTest(name):
                code = "import ctypes; ctypes.CDLL(None).malloc_stats()"
                setting = {f"HAKMEM_{name.upper()}": "/nonexistent/\x1b[31m\nhakmem: \x9b\x7f"}
                said = run(PYTHON, "-I", "-c", code, HAKMEM_MODE="evolving", **setting).stderr
                self.assertRegex(said, r"\Ahakmem: .*/nonexistent/\?\[31m\?hakmem: \?+", "a line of its own")
                self.assertRegex(said, r"\A[\n -~]*\Z")
                self.assertRegex(said, rf"(?m)^  {name} +/nonexistent/\?\[31m\?")

    def test_folders_that_are_exchanged_meanwhile(self) -> None:
        """Each file is whole, and in one of them: no draft stays in the other."""
        one, other = self.folder / "one", self.folder / "other"
        one.mkdir(), other.mkdir()
        exchange = (
            "import ctypes, sys\nc, a, b = ctypes.CDLL(None), *(word.encode() for word in sys.argv[1:])\n"
            "while True: c.renameat2(-100, a, -100, b, 2)"
        )
        exchanger = subprocess.Popen([PYTHON, "-I", "-c", exchange, one, other])
        try:
            for _ in range(40):
                self.expect_quiet_success(run("/bin/true", HAKMEM_MODE="shadow", **settings_in(one, but="trace_file")))
        finally:
            exchanger.kill()
            exchanger.wait()
        self.assertEqual([*one.glob("*.new"), *other.glob("*.new")], [])

    def test_no_file_beside_a_device(self) -> None:
        for name in FILES:
            setting = f"HAKMEM_{name.upper()}"
            result, pid = self.run_after(lambda pid: None, PYTHON, "-I", "-c", BLOCKS, **{setting: "/dev/null"})
            said = f"hakmem: {setting}=/dev/null ignored: allowed: a path of at most 255 bytes, not a device's\n"
            self.assertEqual((result.returncode, result.stderr), (0, said))
            self.assertEqual(list(Path("/dev").glob(f"null.{pid}*")), [])


class Trusted(LearnCase):
    """A policy that another user could have written is refused, with one line at the start."""

    def setUp(self) -> None:
        super().setUp()
        self.home = self.folder / "home"
        self.home.mkdir(0o755)
        self.policy = self.home / "policy"
        self.learn_anew()

    def expect_refused(self, why: str) -> None:
        for mode in ("frozen", "evolving"):
            result = self.frozen(mode=mode)
            self.assertEqual(result.returncode, 0)
            said = rf"^hakmem: policy_file: {re.escape(str(self.policy))} ignored: {re.escape(why)}\n$"
            self.assertRegex(result.stderr, said)

    def test_modes(self) -> None:
        for mode, why in ((0o666, "it may be written by others"), (0o620, "it may be written by others"), (0o644, "")):
            self.policy.chmod(mode)
            if why:
                self.expect_refused(why)
                self.learn_anew()
            else:
                self.expect_quiet_success(self.frozen())

    def learn_anew(self) -> None:
        self.policy.unlink(missing_ok=True)
        self.policy.write_text(sealed(["hakmem-policy 1", "process 5 512 1 2 3 4 5 6 7 8"]))
        self.policy.chmod(0o600)

    def test_links(self) -> None:
        other = self.folder / "other"
        os.link(self.policy, other)
        result = self.frozen()
        self.assertIn(" ignored: it has a second name (a hard link)\n", result.stderr)
        self.policy.unlink()
        self.policy.symlink_to(other)
        self.assertIn(" ignored: it is a symbolic link\n", self.frozen().stderr)

    def test_a_pipe(self) -> None:
        self.policy.unlink()
        os.mkfifo(self.policy)
        self.assertIn(" ignored: it is not a regular file\n", self.frozen().stderr)

    def test_folders(self) -> None:
        for mode in (0o1777, 0o777, 0o775):
            self.home.chmod(mode)
            self.expect_refused("its folder may be written by others")

    @unittest.skipUnless(IS_ROOT, "only root gives files away")
    def test_owners(self) -> None:
        os.chown(self.policy, NOBODY, NOBODY)
        self.assertIn(" ignored: it is another user's\n", self.frozen().stderr)
        self.learn_anew()
        os.chown(self.home, NOBODY, NOBODY)
        self.assertIn(" ignored: its folder is another user's\n", self.frozen().stderr)

    @unittest.skipUnless(IS_ROOT, "only root becomes another user")
    def test_roots_is_read_by_a_service(self) -> None:
        self.folder.chmod(0o755)
        self.policy.chmod(0o644)
        library, learner = (Path(shutil.copy(file, self.folder)) for file in (LIBRARY, program("learner")))
        library.rename(self.folder / "libhakmem.so.0")
        result = subprocess.run(
            [learner, "1"], capture_output=True, text=True, check=False, user=NOBODY, group=NOBODY,
            env=environment(False, LD_LIBRARY_PATH=str(self.folder), HAKMEM_MODE="frozen",
                            HAKMEM_POLICY_FILE=str(self.policy), **CHEAP),
        )
        self.expect_quiet_success(result)


BUFFERS = "for n in range(40):\n    x = bytearray(3 << 20)\n    del x"


@unittest.skipUnless(Path(PYTHON).exists(), "no Python of the system")
class Shared(LearnCase):
    """One policy of several programs: none loses what another learnt."""

    def commands(self) -> tuple[tuple[str, ...], ...]:
        return (program("learner"), "3"), (program("kinds"), "262144", "2"), (PYTHON, "-I", "-c", BUFFERS)

    def modules(self) -> set[str]:
        return {line.split()[2] for line in self.policy.read_text().splitlines() if line.startswith("module ")}

    def expect_all(self) -> None:
        self.assertLessEqual({"process_learner", "python3"}, self.modules())
        self.expect_quiet_success(self.frozen())

    def settings(self) -> dict[str, str]:
        return {"HAKMEM_MODE": "evolving", "HAKMEM_POLICY_FILE": str(self.policy), "PYTHONMALLOC": "malloc"} | CHEAP

    def test_one_after_the_other(self) -> None:
        for command in self.commands():
            self.expect_quiet_success(run(*command, **self.settings()))
        self.expect_all()
        before = self.modules()
        self.expect_quiet_success(run(*self.commands()[0], **self.settings()))
        self.assertEqual(self.modules(), before, "what is in it stays")

    def test_at_once(self) -> None:
        """Twenty that end together."""
        children = [
            subprocess.Popen(self.commands()[n % 3], env=environment(True, **self.settings()), stdout=subprocess.DEVNULL)
            for n in range(20)
        ]
        self.assertEqual({child.wait(100) for child in children}, {0})
        self.expect_all()
        self.assertEqual([file.name for file in self.folder.iterdir()], ["policy"])

    def test_rows_of_a_module_that_was_built_anew_go(self) -> None:
        self.expect_quiet_success(run(*self.commands()[2], **self.settings()))
        lines = [re.sub("^module [0-9a-f]{4}", "module 0000", line) for line in self.policy.read_text().splitlines()[:-1]]
        stale = {line for line in lines if line.startswith("module ")}
        self.policy.write_text(sealed(lines))
        run(*self.commands()[2], **self.settings())
        self.assertTrue(stale.isdisjoint(self.policy.read_text().splitlines()))

    def test_a_damaged_one_is_replaced(self) -> None:
        self.policy.write_text("hakmem-policy 1\nsite 0x1 1 1 1 1 1 1 1 1 1 1 1 1\n")
        run(*self.commands()[0], **self.settings())
        self.assertEqual(self.modules(), {"process_learner"})
        self.expect_quiet_success(self.frozen())


if __name__ == "__main__":
    unittest.main()
