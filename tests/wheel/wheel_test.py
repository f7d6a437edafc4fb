# SPDX-License-Identifier: MIT OR Apache-2.0
"""scripts/wheel.py: the same bytes each time, the tag that auditwheel finds, and the commands where there is no checkout.

Each wheel is packed twice and installed once; nothing is compiled."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
import zipfile
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from unittest import mock

from hakmem.base.errors import Refusal
from hakmem.commands import FIRST, NAMES
from hakmem.process import places

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HAK_TEST_BUILD"])
BARE = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else shutil.which("python3") or sys.executable
INSTALLED_BYTES = 6 << 20
OLD, NEW = "manylinux_2_17", "manylinux_2_34"
IMPORTS = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
PROOF = (
    "import ctypes, sys; c = ctypes.CDLL(None); c.malloc.restype = ctypes.c_void_p; c.hak_owns.argtypes = [ctypes.c_void_p]; "
    "print(bool(c.hak_owns(c.malloc(99)))); "
    "print(*{line.split()[-1] for line in open('/proc/self/maps') if 'libhakmem' in line})"
)


def run(*command: str | Path, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], cwd=cwd, env=BARE | variables, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)


def packed(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, ROOT / "scripts/wheel.py", "--build", BUILD, "-o", folder, cwd=folder.parent, **variables)


def wheels(folder: Path) -> dict[str, Path]:
    """By the first of its platform tags, without the machine."""
    found = {file: re.search(r"-(manylinux_\d+_\d+)_", file.name) for file in folder.glob("*.whl")}
    return {match[1]: file for file, match in found.items() if match}


class Wheels(unittest.TestCase):
    """One pair of wheels for all of them, and one environment without the dependencies."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="hakmem-wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.said = packed(cls.folder / "first", SOURCE_DATE_EPOCH="1700000000")
        cls.wheels = wheels(cls.folder / "first")
        cls.bin = cls.folder / "environment/bin"
        if cls.said.returncode == 0:
            subprocess.run([PYTHON, "-m", "venv", cls.bin.parent], check=True)
            cls.installed = cls.pip("install", "--no-deps", "hakmem")

    @classmethod
    def pip(cls, command: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return run(cls.bin / "python", "-m", "pip", command, "--quiet", "--no-index", "--disable-pip-version-check",
                   "--find-links", cls.folder / "first", *words, cwd=cls.folder)

    def hakmem(self, *words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        return run(self.bin / "hakmem", *words, cwd=self.folder, **variables)

    def printed(self, done: subprocess.CompletedProcess[str]) -> str:
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def refused(self, done: subprocess.CompletedProcess[str], text: str) -> None:
        self.assertRegex(done.stderr, r"\Ahakmem: [^\n]+\n\Z")
        self.assertIn(text, done.stderr)
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    @property
    def package(self) -> Path:
        (found,) = self.bin.parent.glob("lib/python3*/site-packages/hakmem")
        return found

    def test_the_same_bytes_each_time(self) -> None:
        self.assertEqual(self.said.returncode, 0, self.said.stderr)
        self.assertEqual(set(self.wheels), {OLD, NEW})
        packed(self.folder / "second", SOURCE_DATE_EPOCH="1700000000")
        digests = [
            {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted((self.folder / name).glob("*.whl"))}
            for name in ("first", "second")
        ]
        self.assertEqual(digests[0], digests[1])

    def test_no_file_names_the_checkout(self) -> None:
        for file in self.wheels.values():
            with zipfile.ZipFile(file) as archive:
                naming = [name for name in archive.namelist() if str(ROOT).encode() in archive.read(name)]
            self.assertEqual(naming, [])

    def test_debug_files_are_beside_them(self) -> None:
        found = sorted((self.folder / "first/debug/.build-id").glob("??/*.debug"))
        self.assertEqual(len(found), 20)  # five libraries and four tools twice, two programs
        sections = run("readelf", "-SW", found[0]).stdout
        self.assertIn(".debug_info", sections)
        self.assertNotIn(".debug", run("readelf", "-SW", self.package / "lib/libhakmem.so").stdout)

    def test_the_tag_is_what_auditwheel_finds(self) -> None:
        for tag, file in self.wheels.items():
            said = " ".join(run(sys.executable, "-m", "auditwheel", "show", file).stdout.split())
            self.assertIn(f'is consistent with the following platform tag: "{tag}_{os.uname().machine}"', said)

    def test_pip_takes_the_one_for_this_glibc_and_nothing_else(self) -> None:
        self.assertEqual(self.installed.returncode, 0, self.installed.stderr)
        minor = int((places.glibc_version() or "2.0").split(".")[1])
        self.assertEqual((self.package / "lib/made-for").read_text().split()[1], "2.34" if minor >= 34 else "2.17")
        distributions = {file.name.partition("-")[0] for file in self.package.parent.glob("*.dist-info")}
        self.assertLessEqual(distributions, {"hakmem", "pip", "setuptools"})

    def test_what_is_installed_is_small(self) -> None:
        files = [*self.package.rglob("*"), *self.package.parent.glob("hakmem-*/**/*"), *self.bin.parent.glob("share/**/*")]
        total = sum(file.stat().st_size for file in files if file.is_file())
        print(f"installed: {total / (1 << 20):.2f} MiB", file=sys.stderr)
        self.assertLess(total, INSTALLED_BYTES)

    def test_pip_refuses_other_systems(self) -> None:
        for platform in ("musllinux_1_2_x86_64", "manylinux_2_5_x86_64", "manylinux_2_34_i686", "manylinux_2_34_aarch64"):
            with self.subTest(platform=platform):
                done = self.pip("download", "--platform", platform, "--only-binary", ":all:", "-d", self.folder, "hakmem")
                self.assertIn("No matching distribution", done.stderr)

    def test_exec_is_served_by_the_library_inside(self) -> None:
        for start in ([self.bin / "hakmem"], [self.bin / "python", "-m", "hakmem"]):
            done = run(*start, "exec", "--", PYTHON, "-c", PROOF, cwd=self.folder)
            self.assertEqual(self.printed(done).split(), ["True", str(self.package / "lib/libhakmem.so")])

    def test_exec_is_served_by_the_secure_one(self) -> None:
        done = self.hakmem("exec", "--secure", "--", PYTHON, "-c", PROOF)
        self.assertEqual(self.printed(done).split(), ["True", str(self.package / "lib/libhakmem-secure.so")])

    def test_exec_with_settings_and_statistics(self) -> None:
        done = self.hakmem("exec", "--stats", "--set", "price=lean", "--", "sh", "-c", "echo $HAKMEM_PRICE; true")
        self.assertEqual((done.returncode, done.stdout), (0, "lean\n"))
        self.assertIn("served       by HAKMEM", done.stderr)
        self.refused(self.hakmem("exec", "--set", "price=dear", "true"), "price=dear")

    def test_run_proves_and_compares(self) -> None:
        done = self.hakmem("run", "--runs", "1", "--", PYTHON, "-c", "print(6 * 7)")
        self.assertEqual((done.returncode, done.stdout), (0, "42\n"))
        self.assertIn(f"served by HAKMEM: malloc and free are those of {self.package}/lib/libhakmem.so", done.stderr)

    def test_path_and_env(self) -> None:
        path = self.printed(self.hakmem("path")).strip()
        self.assertEqual(path, str(self.package / "lib/libhakmem.so"))
        self.assertEqual(self.printed(run(PYTHON, "-c", PROOF, LD_PRELOAD=path)).split(), ["True", path])
        script = f'eval "$({self.bin}/hakmem env)"; exec {PYTHON} -c "$0"'
        self.assertEqual(self.printed(run("sh", "-c", script, PROOF)).split(), ["True", path])

    def test_a_checkout_around_it_does_not_matter(self) -> None:
        done = run(self.bin / "hakmem", "path", cwd=ROOT)
        self.assertEqual(self.printed(done).strip(), str(self.package / "lib/libhakmem.so"))

    def test_help_and_version_without_dependencies(self) -> None:
        self.assertRegex(self.printed(self.hakmem("--version")), r"\Ahakmem \d+\.\d+\.\d+\n\Z")
        for words, text in ((["-h"], "More commands:"), (["run", "--help"], "--runs"), (["replay", "-h"], "--rounds")):
            self.assertIn(text, self.printed(self.hakmem(*words)))
        self.assertEqual(self.hakmem().returncode, 2)

    def test_pip_wants_the_dependencies_without_an_extra(self) -> None:
        done = self.pip("install", "--dry-run", "--ignore-installed", "hakmem")
        self.assertRegex(done.stderr, r"No matching distribution found for (rich|protobuf|pyelftools)~=")

    @unittest.skipIf(shutil.which("musl-gcc") is None, "no musl-gcc")
    def test_a_program_of_musl(self) -> None:
        source, program = self.folder / "nothing.c", self.folder / "of-musl"
        source.write_text("int main(void) { return 0; }")
        subprocess.run(["musl-gcc", "-o", program, source], check=True)
        self.refused(self.hakmem("exec", "--", program), "the wheel for musllinux has one, or name it with --library")

    def test_what_is_missing_is_told(self) -> None:
        """By every command that needs more, and by no name of a module; what is wrong otherwise is told as ever."""
        words = {"address": ["1", "-p", "1"], "explain": ["1"], "top": ["999999999"], "stats": ["999999999"], "decisions": ["no-such"], "policy": ["no-such"]}
        for command in set(NAMES) - {"run", "exec", "path", "env"}:
            with self.subTest(command=command):
                self.refused(self.hakmem(command, *words.get(command, ["true"])), "hakmem: ")
        for command in ("doctor", "profile", "replay", "report", "trace"):
            done = self.hakmem(command, "true")
            self.refused(done, f"hakmem: {command} needs more than is installed here: pip install hakmem\n")
        done = self.hakmem("exec", "--profile", "true")
        self.refused(done, "hakmem: exec --profile needs more than is installed here: pip install hakmem\n")

    def test_no_module_of_the_laboratory_is_in_it(self) -> None:
        for file in self.wheels.values():
            with zipfile.ZipFile(file) as archive:
                packages = {name.partition("/")[0] for name in archive.namelist()}
            self.assertEqual({name for name in packages if ".d" not in name}, {"hakmem"})
        laboratory = {file.name for file in (ROOT / "lab/hakmem_lab").iterdir() if file.is_dir() and file.name != "learning"}
        self.assertEqual(laboratory & {file.name for file in self.package.iterdir()}, {"__pycache__"} & laboratory)

    def test_what_is_done_without_dependencies_imports_without_them(self) -> None:
        without = [f"hakmem.commands.{name}" for name in NAMES] + ["hakmem.running.run", "hakmem.running.exec", "hakmem.running.shell"]
        self.printed(run(self.bin / "python", "-I", "-c", IMPORTS, *without, cwd=self.folder))

    def test_wrong_use_without_dependencies(self) -> None:
        for words, text in (
            (["frobnicate"], "no such command 'frobnicate'"), (["--frobnicate"], "no such option"), (["exec"], "exec --help"),
            (["run", "--runs", "0"], "run --help"), (["run", "--frobnicate"], "run --help"), (["path", "x"], "path --help"),
            (["path", "--flavour", "static"], "not in the installed package"),
        ):
            with self.subTest(words=words):
                self.refused(self.hakmem(*words), text)

    def test_installed_where_the_interpreter_is_not(self) -> None:
        """The wheel for older systems, which this one runs, too."""
        for how in ("--target", "--prefix"):
            folder = self.folder / how
            done = self.pip("install", "--no-deps", "--ignore-installed", how, folder, self.wheels[OLD])
            self.assertEqual(done.returncode, 0, done.stderr)
            command = folder / "bin/hakmem"
            path = str(next(folder.rglob("lib/libhakmem.so")))
            found = self.printed(run(command, "exec", "--", PYTHON, "-c", PROOF, cwd=ROOT)).split()
            self.assertEqual([found[0], os.path.realpath(found[1])], ["True", path])

    def test_without_its_interpreter(self) -> None:
        moved = self.folder / "moved"
        shutil.copytree(self.bin.parent, moved, symlinks=True)
        for file in (moved / "bin").glob("python*"):
            file.unlink()
        (moved / "lib").rename(moved / "other")
        done = run(moved / "bin/hakmem", "path")
        self.assertRegex(done.stderr, r"\Ahakmem: [^\n]+ is missing\n\Z")
        self.assertEqual(done.returncode, 127)


class WithDependencies(unittest.TestCase):
    """What `pip install hakmem` brings, without an extra, in an environment without anything else. The dependencies are
    this environment's, so that no index is asked."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="hakmem-wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        packed(cls.folder / "wheels")
        subprocess.run([sys.executable, "-m", "venv", cls.folder / "environment"], check=True)
        (site,) = cls.folder.glob("environment/lib/python3*/site-packages")
        for file in brought_by(dependencies()):
            (site / file.name).symlink_to(file)
        cls.package, cls.python = site / "hakmem", cls.folder / "environment/bin/python"
        cls.installed = run(cls.python, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check",
                            wheels(cls.folder / "wheels")[OLD], cwd=cls.folder)

    def hakmem(self, *words: str | Path) -> str:
        done = run(self.python, "-I", "-m", "hakmem", *words, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def test_pip_is_content(self) -> None:
        self.assertEqual((self.installed.returncode, self.installed.stderr), (0, ""))
        done = run(self.python, "-m", "pip", "check", "--disable-pip-version-check")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_commands_of_every_day(self) -> None:
        """Each of the first group of the help."""
        heap, page = self.folder / "day.heap", self.folder / "day.html"
        waits = [self.python, "-I", "-m", "hakmem", "exec", "--", PYTHON, "-c", "import sys; k = bytes(9 << 20); print(1, flush=True); input()"]
        done = {
            "run": self.hakmem("run", "--runs", "1", "--", PYTHON, "-c", "print(6 * 7)"),
            "exec": self.hakmem("exec", f"--profile={heap}", "--", PYTHON, "-c", "print(6 * 7)"),
            "doctor": self.hakmem("doctor", PYTHON),
            "profile": self.hakmem("profile", heap),
            "report": self.hakmem("report", heap, "-o", page),
        }
        with subprocess.Popen(list(map(str, waits)), env=BARE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin and process.stdout
            self.assertEqual(process.stdout.readline(), "1\n")
            done["top"] = self.hakmem("top", "--once", str(process.pid))
            done["explain"] = self.hakmem("explain", str(process.pid))
            process.stdin.write("\n")
        self.assertEqual(set(done), set(FIRST))
        wanted = {"run": "served by HAKMEM", "exec": "heap profile", "doctor": "ok", "profile": "function", "report": "by HAKMEM's counters|sampled", "top": "in use|live", "explain": "live"}
        for command, text in wanted.items():
            with self.subTest(command=command):
                self.assertRegex(done[command], text)
        self.assertIn("<html", page.read_text())

    def test_every_module_imports(self) -> None:
        files = [file.relative_to(self.package.parent) for file in self.package.rglob("*.py")]
        modules = [".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files]
        self.assertGreater(len(modules), 70)
        done = run(self.python, "-I", "-c", IMPORTS, *(name for name in modules if not name.endswith(("__main__", "burst"))))
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_commands_with_tools_of_their_own(self) -> None:
        """The tools are those for older systems, which run here, too."""
        trace, heap = self.folder / "a.hakt", self.folder / "heap"
        allocates = "import ctypes; [bytearray(1 << 20) for n in range(20)]"
        self.hakmem("trace", "-o", trace, "--", PYTHON, "-c", allocates)
        self.assertIn("all call sites", self.hakmem("sites", "--trace", trace))
        self.assertIn("hits", self.hakmem("sites", "--trace", trace))
        self.assertIn("peak RSS", self.hakmem("replay", "--rounds", "1", trace))
        self.assertIn('"state": "ok"', self.hakmem("doctor", "--json", PYTHON))
        self.hakmem("exec", f"--profile={heap}", "--", PYTHON, "-c", allocates)
        self.assertIn("function", self.hakmem("profile", heap))
        self.hakmem("report", heap, "-o", self.folder / "page.html")
        self.assertIn("<html", (self.folder / "page.html").read_text())


def needed(requirements: list[str] | None) -> set[str]:
    """Names of distributions; those of extras are left out."""
    return {re.split(r"[^\w.-]", each)[0] for each in requirements or () if "extra ==" not in each}


def dependencies() -> set[str]:
    """As the sources have them, whatever this environment was made from."""
    return needed(tomllib.loads((ROOT / "cli/pyproject.toml").read_text())["project"]["dependencies"])


def brought_by(names: set[str]) -> set[Path]:
    """What lies in this environment of these, with all that they need here."""
    wanted, found, seen = set(names), set(), set()
    while wanted:
        name = wanted.pop()
        with suppress(metadata.PackageNotFoundError):  # another system or interpreter needs it
            distribution = metadata.distribution(name)
            tops = {file.parts[0] for file in distribution.files or () if ".." not in file.parts}
            found |= {Path(str(distribution.locate_file(top))) for top in tops if top != "__pycache__"}
            seen.add(name)
            wanted |= needed(distribution.requires) - seen
    return found


class NotForHere(unittest.TestCase):
    """pip refuses such a wheel; whoever unpacks it by hand is told."""

    def refusal(self, made_for: str, confstr: mock.Mock | None = None) -> str:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "made-for"
            file.write_text(made_for)
            with mock.patch.object(places, "MADE_FOR", file), mock.patch("os.confstr", confstr or os.confstr):
                try:
                    places.refuse_unless_made_for_here()
                except Refusal as refusal:
                    return str(refusal)
        return ""

    def test_here(self) -> None:
        self.assertEqual(self.refusal(f"{os.uname().machine} 2.17\n"), "")

    def test_another_machine(self) -> None:
        for machine in ("i686", "armv7l", "riscv64"):
            self.assertIn(f"is for {machine}, and this machine is", self.refusal(f"{machine} 2.17\n"))

    def test_an_older_glibc(self) -> None:
        old = mock.Mock(return_value="glibc 2.12")
        self.assertIn("needs glibc 2.17, and this system has 2.12", self.refusal(f"{os.uname().machine} 2.17\n", old))

    def test_one_for_musl(self) -> None:
        on_musl = mock.Mock(side_effect=ValueError)
        self.assertEqual(self.refusal(f"{os.uname().machine} musl\n", on_musl), "")
        here = mock.Mock(return_value="glibc 2.36")
        self.assertIn("is for musl, and this system has glibc 2.36", self.refusal(f"{os.uname().machine} musl\n", here))

    def test_another_libc(self) -> None:
        for answer in ({"side_effect": ValueError}, {"return_value": None}, {"return_value": ""}):
            self.assertIn("another libc", self.refusal(f"{os.uname().machine} 2.17\n", mock.Mock(**answer)))


if __name__ == "__main__":
    unittest.main()
