# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests share: the build, the small programs of tests/tools, and running things."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hakmem.process.launch import Figures, Launcher, Streams
from hakmem.process.places import Places, find_places
from hakmem.process.proof import Record, read_records

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HAK_TEST_BUILD", ROOT / "build" / "release"))
COMMAND = Path(sys.executable).with_name("hakmem")
PROGRAMS = Path(os.environ.get("HAK_TEST_PROGRAMS", BUILD / "tests" / "tools"))


def program(name: str) -> str:
    return str(PROGRAMS / f"tools_{name}")


def preloadable(name: str) -> Path:
    return PROGRAMS / f"libtools_{name}.so"


def clean_environment(**more: str) -> dict[str, str]:
    """The caller's, without what would steer HAKMEM or preload anything."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HAKMEM_", "LD_PRELOAD"))}
    return kept | more


def hakmem(*arguments: str, stdin: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command, as a user would start it."""
    return subprocess.run(
        [COMMAND, *arguments],
        env=clean_environment(**variables), input=stdin, capture_output=True, text=True, check=False,
    )


def hakmem_run(*command: str, options: Sequence[str] = (), **more: str) -> subprocess.CompletedProcess[str]:
    return hakmem("run", "--build", str(BUILD), "--runs", "1", *options, "--", *command, **more)


def not_to_be_replaced(folder: Path) -> list[Path]:
    """A file, a packed file, a pipe and a link to nothing, none of which is a trace."""
    text, packed, pipe, link = (folder / name for name in ("text", "packed.gz", "pipe", "link"))
    text.write_text("HAKT, but not packed")
    packed.write_bytes(gzip.compress(b"something else"))
    os.mkfifo(pipe)
    link.symlink_to("nowhere")
    return [text, packed, pipe, link]


def file_itself(path: Path) -> tuple[int, int, int, int]:
    there = path.lstat()
    return there.st_ino, there.st_mode, there.st_size, there.st_mtime_ns


def small_trace(file: Path) -> Path:
    """Of one thread, with four blocks of 70,000 bytes."""
    from writer import Trace

    trace = Trace()
    process = trace.process(7, ["/bin/small"])
    process.modules("400000-500000 r-xp 00000000 08:01 77   /nowhere/small\n")
    thread = process.thread(0)
    for n in range(4):
        thread.allocate(10 * n, block=0x10000, size=70000, site=(0x400010, 2))
        thread.free(10 * n + 5, block=0x10000)
    file.write_bytes(trace.packed())
    return file


def heap_profile(folder: Path) -> Path:
    """With each block of a small program."""
    variables = {"LD_PRELOAD": str(BUILD / "libhakmem.so"), "HAKMEM_PROFILE_FILE": str(folder / "heap"), "HAKMEM_PROFILE_BYTES": "1"}
    subprocess.run([program("traced")], env=clean_environment(**variables), check=False, stdout=subprocess.DEVNULL)
    return next(folder.glob("heap.*"))


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def groups_of(process: subprocess.Popen[str]) -> list[int]:
    """Process groups of a command with a session of its own: `hakmem run` starts its program in one more session."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [process.pid, *map(int, children.read_text().split())]


def end_groups(process: subprocess.Popen[str], groups: Iterable[int]) -> None:
    """A shell cannot trap a signal that its caller ignores: what a failed test leaves would run on."""
    with process:
        for group in groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def line_of(process: subprocess.Popen[str]) -> str:
    """The next one that it prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


sys.path.append(str(ROOT / "tests" / "trace"))  # for its writer


class Scratch(unittest.TestCase):
    """Every test has an empty folder, the places of the build, and a launcher."""

    folder: Path
    places: Places

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="hakmem-test-")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.places = find_places(BUILD, None)

    def changed(self, at: int = 0, value: bytes = b"\x7fELF") -> str:
        """A copy of a program, with other bytes there."""
        data = bytearray(Path(program("calls")).read_bytes())
        data[at : at + len(value)] = value
        copy = self.folder / "changed"
        copy.write_bytes(data)
        copy.chmod(0o755)
        return str(copy)

    def launch(self, *argv: str, follow: Path | None = None, **variables: str) -> Figures:
        streams = Streams(output=self.folder / "output", errors=self.folder / "errors")
        environment = clean_environment(**variables)
        return Launcher(self.places.launcher, self.folder).run(list(argv), environment, streams, follow)

    def probed(
        self, libraries: Sequence[Path], *argv: str, more: Mapping[str, str] | None = None
    ) -> tuple[Figures, list[Record]]:
        """Runs a program with these libraries preloaded and returns what the probe among them wrote."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        preload = " ".join(map(str, libraries))
        figures = self.launch(*argv, LD_PRELOAD=preload, HAKPROBE_FILE=str(folder / "proof"), **(more or {}))
        return figures, read_records(folder / "proof")

    def refused(self, *arguments: str, user: int | None = None) -> str:
        ended = subprocess.run(
            [COMMAND, *arguments], env=clean_environment(), user=user, capture_output=True, text=True, check=False
        )
        self.assert_one_line(ended.stderr)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        return ended.stderr

    def assert_one_line(self, text: str) -> None:
        """A refusal is one line that begins with the command's name."""
        self.assertRegex(text, r"\Ahakmem: [^\n]+\n\Z")
