# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem trace`, from a program's calls to what a reader of its own makes of the file."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import signal
import subprocess
import unittest
from collections import Counter
from pathlib import Path

from support import BUILD, COMMAND, Scratch, clean_environment, file_itself, hakmem, not_to_be_replaced, program
from trace_reader import ALIGNED, ALLOC, FREE, Event, Process, live_blocks, read_records, read_trace

TRACED = program("traced")
FORKS = "60" if os.environ.get("HAK_TEST_SCALE", "1") == "1" else "200"  # in CI, and in `make stress`
JSON = "import json\nfor _ in range(3): json.loads(json.dumps([{'a': i, 'b': [1, 2], 'c': 'x' * 20} for i in range(5000)]))"
SOURCE = "#include <map>\n#include <string>\nint main() { std::map<std::string, int> m; m[\"a\"] = 1; return m.size() - 1; }\n"


def counts(events: list[Event]) -> Counter[int]:
    return Counter(event.op for event in events)


class Traced(Scratch):
    def setUp(self) -> None:
        super().setUp()
        self.file = self.folder / "made.hakt"

    def trace(
        self, *command: str, status: int = 0, stdin: str | None = None, file: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = hakmem("trace", "--build", str(BUILD), "-o", str(file or self.file), "--", *command, stdin=stdin)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def traced(self, *command: str, status: int = 0) -> list[Process]:
        """Its processes, as they began. No event was lost, and nothing else is left in the folder."""
        self.assertIn("no event lost", self.trace(*command, status=status).stderr)
        self.assertEqual([path.name for path in self.folder.glob(".hakmem*")], [])
        found = list(read_trace(self.file).values())
        self.assertEqual(sum(process.lost for process in found), 0)
        return found

    def one(self, *command: str, status: int = 0) -> Process:
        (process,) = self.traced(*command, status=status)
        return process

    def files_of(self, *command: str, **more: str) -> list[Process]:
        """Without the command: the library's own files, read as they are."""
        stem = self.folder / "calls"
        figures = self.launch(*command, LD_PRELOAD=str(self.places.so_file), HAKMEM_TRACE_FILE=str(stem), **more)
        self.assertEqual(figures.status, 0, (self.folder / "errors").read_text())
        return [next(iter(read_records(records(path)).values())) for path in sorted(self.folder.glob("calls.*"))]


def records(path: Path) -> bytes:
    """Of one of the library's files, in the order of the trace."""
    import mmap

    from hakmem.tracing.recording import HEAD, pieces_of

    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return b"".join(data[piece.at : piece.at + HEAD.size + piece.used] for piece in pieces_of(data))


class Calls(Traced):
    def test_every_call_comes_back_exactly(self) -> None:
        done = self.trace(TRACED, "calls")
        (process,) = read_trace(self.file).values()
        self.assertEqual(process.command, [TRACED, "calls"])
        said = [tuple(int(word, 0) for word in line.split()) for line in done.stdout.splitlines()]
        own = [event for event in process.threads[0] if process.mapping_of(event.site).endswith("tools_traced")]
        self.assertEqual([(e.op, e.went, e.came, e.size, e.align) for e in own], said)
        self.assertEqual(live_blocks(own), {})

    def test_a_text_without_an_interpreters_line_is_the_shells(self) -> None:
        text = self.folder / "text"
        text.write_text("echo $0 $1\nexec ls / >/dev/null\n")
        text.chmod(0o755)
        self.assertEqual(self.trace(str(text), "it").stdout, f"{text} it\n")

    def test_operator_new(self) -> None:
        done = self.trace(program("traced_news"))
        (process,) = read_trace(self.file).values()
        said = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
        own = process.called_from("tools_traced_news") + process.called_from("libhakmem.so.0.1.0")
        allocated = [(e.size, e.align) for e in sorted(own, key=lambda e: e.ns) if e.op in (ALLOC, ALIGNED)]
        self.assertEqual(allocated, said)
        self.assertEqual(counts(own)[FREE], len(said))

    def test_the_stack_is_as_deep_in_every_run(self) -> None:
        depths = []
        for _ in range(2):
            process = self.one(TRACED, "threads", "2", "50")
            depths.append(Counter((e.op, e.depth, e.site % 4096) for e in process.called_from("tools_traced")))
        self.assertEqual(depths[0], depths[1])
        self.assertTrue(all(0 < depth < 1000 for _, depth, _ in depths[0]), depths[0])

    def test_counted_and_traced_at_once(self) -> None:
        (process,) = self.files_of(TRACED, "calls", HAKMEM_COUNT_CALLS="on", HAKMEM_COUNTERS_FILE=str(self.folder / "counts"))
        from hakmem.process.counters import calls_of, read_counts

        (counted,) = (calls_of(rows) for rows in read_counts(self.folder / "counts").values())
        freed = counts(process.events)[FREE]
        self.assertEqual(counted.allocs + counted.frees, len(process.events) + 2, "two calls free NULL")
        self.assertGreater(freed, 30)

    def test_what_is_loaded_later_is_a_module(self) -> None:
        process = self.one("/usr/bin/python3", "-c", "import json, ssl, decimal")
        self.assertTrue(all(process.mapping_of(event.site) for event in process.events))
        self.assertIn("libssl", process.modules)


class Threads(Traced):
    def test_each_has_its_events_in_order(self) -> None:
        process = self.one(TRACED, "threads", "8", "20000")
        full = [events for events in process.threads.values() if len(events) > 30000]
        self.assertEqual([counts(events) >= Counter({ALLOC: 20000, FREE: 20000}) for events in full], [True] * 8)
        for events in full:
            sizes = [event.size for event in events if event.op == ALLOC and event.size < 500]
            self.assertEqual(sizes[-20000:], [i % 500 for i in range(20000)])
        live_blocks(process.events)

    def test_many_one_after_the_other_share_chunks(self) -> None:
        (process,) = self.files_of(TRACED, "chain", "500", "3")
        self.assertGreater(len(process.threads), 500)
        (file,) = self.folder.glob("calls.*")
        self.assertLess(file.stat().st_size, 10 << 16)

    def test_after_the_exit_hook(self) -> None:
        process = self.one(TRACED, "ends", "20")
        blocks = [event.came for event in process.events if event.size == 123]
        freed = [event for event in process.called_from("libc.so.6") if event.op == FREE and event.went in blocks]
        self.assertEqual((len(blocks), len(freed)), (20, 20))

    def test_one_that_is_cancelled_does_not_end_in_the_recorder(self) -> None:
        self.assertEqual(self.trace(TRACED, "cancel", "100000").stdout, "survived\n")


class Processes(Traced):
    def pairs(self, process: Process, caller: str = "tools_traced") -> int:
        return sum(event.op == FREE for event in process.called_from(caller))

    def test_a_fork(self) -> None:
        self.trace(TRACED, "fork", "1000")
        found = read_trace(self.file)
        ((parent, _), (child, _)) = found
        self.assertEqual([process.parent for process in found.values()], [0, parent])
        self.assertEqual([self.pairs(process) for process in found.values()], [2002, 1001])
        self.assertEqual(sum(process.lost for process in found.values()), 0)
        self.assertNotEqual(parent, child)

    def test_forks_beside_threads(self) -> None:
        first, *children = self.traced(TRACED, "fork_threads", "20")
        self.assertEqual([self.pairs(child) for child in children], [100] * 20)
        live_blocks(first.events)

    def test_forks_of_a_handler_that_interrupts_the_recorder(self) -> None:
        """Each child goes on where its parent was, perhaps in the middle of an event."""
        stem = self.folder / "calls"
        forking = str(BUILD / "tests" / "process" / "process_fork_from_signal")
        figures = self.launch(forking, FORKS, LD_PRELOAD=str(self.places.so_file), HAKMEM_TRACE_FILE=str(stem))
        self.assertEqual(figures.status, 0, (self.folder / "errors").read_text())
        self.assertGreater(len(list(self.folder.glob("calls.*"))), 50)

    def fork_in_events(self, how: str, stride: int) -> list[Process]:
        """The first process and its children, whose files are right, whatever was cut."""
        found = self.files_of(str(BUILD / "tests" / "process" / "process_fork_in_event"), how, str(stride))
        (first,) = (process for process in found if process.parent == 0)
        for path in self.folder.glob("calls.*"):
            path.unlink()
        self.assertGreater(len(found), 50)
        self.assertEqual(first.lost, 0)
        return [first, *(process for process in found if process is not first)]

    def test_forks_in_the_middle_of_an_event(self) -> None:
        for how in ("fork", "bare"):
            with self.subTest(how):
                _, *children = self.fork_in_events(how, 37)
                self.assertEqual(sum(process.lost for process in children), 0)
                self.assertEqual({self.pairs(child, "process_fork_in_event") for child in children}, {20})

    def test_calls_of_a_handler_that_forked_are_the_childs(self) -> None:
        _, *children = self.fork_in_events("fork_inside", 37)
        self.assertEqual({process.lost for process in children}, {0, 2})

    def test_forks_in_the_middle_of_an_event_beside_threads(self) -> None:
        """What other threads wrote meanwhile stays, whatever the child goes on with."""
        first, *children = self.fork_in_events("fork_beside", 37)
        self.assertEqual(sorted(first.threads), list(range(len(children) + 2)))

    def test_vfork(self) -> None:
        self.assertEqual(self.pairs(self.one(TRACED, "vfork", "1000")), 2000)

    def test_exec(self) -> None:
        self.trace(TRACED, "exec", "100", TRACED, "signals", "20")
        found = read_trace(self.file)
        self.assertEqual([image for _, image in found], [0, 1])
        self.assertEqual(len({pid for pid, _ in found}), 1)
        self.assertEqual([self.pairs(process) for process in found.values()], [100, 20])

    def test_killed_in_the_middle(self) -> None:
        self.assertEqual(self.pairs(self.one(TRACED, "kill", "12345", status=128 + signal.SIGKILL)), 12345)

    def test_every_descriptor_closed(self) -> None:
        file = self.folder / "theirs"
        self.assertEqual(self.pairs(self.one(TRACED, "closed", str(file), "100000")), 100000)
        self.assertEqual(file.read_bytes(), b"")

    def test_a_storm_of_signals(self) -> None:
        self.assertEqual(self.pairs(self.one(TRACED, "signals", "200000")), 200000)

    def test_no_file_may_be_long(self) -> None:
        done = self.trace(TRACED, "limit", "100000")
        self.assertRegex(done.stderr, r"[\d,]+ EVENTS LOST")
        (process,) = read_trace(self.file).values()
        self.assertEqual(len(process.events) + process.lost, 200000)
        self.assertGreater(len(process.events), 5000)

    def test_a_sandbox_allows_no_further_file(self) -> None:
        for how in ("alone", "threads", "ends", "forked", "strict"):
            with self.subTest(how=how):
                self.trace(str(BUILD / "tests" / "process" / "process_sandbox"), how)
                first = next(iter(read_trace(self.file, decode=False).values()))
                self.assertGreater(first.announced, 10000)


class Figures(Traced):
    def bytes_per_event(self, text: str) -> float:
        found = re.search(r"([\d.]+) bytes per event", text)
        assert found is not None, text
        return float(found[1])

    def test_an_event_is_small(self) -> None:
        source = self.folder / "small.cpp"
        source.write_text(SOURCE)
        programs = [
            ["env", "PYTHONMALLOC=malloc", "/usr/bin/python3", "-c", JSON],
            ["g++", "-O1", "-c", str(source), "-o", str(self.folder / "small.o")],
        ]
        for command in programs:
            with self.subTest(command=command):
                text = self.trace(*command).stderr
                self.assertIn("no event lost", text)
                self.assertLessEqual(self.bytes_per_event(text), 6)


class Command(Traced):
    def refused(self, *arguments: str, status: int) -> None:
        done = hakmem("trace", "--build", str(BUILD), *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assert_one_line(done.stderr)

    def test_streams_and_status_are_the_programs(self) -> None:
        done = self.trace("sh", "-c", "cat; echo error >&2; exit 7", stdin="input", status=7)
        self.assertEqual(done.stdout, "input")
        self.assertIn("error\n", done.stderr)

    def test_the_name_of_the_file(self) -> None:
        self.file = self.folder / "tools_traced.hakt"
        here = subprocess.run(
            [COMMAND, "trace", "--build", str(BUILD), TRACED, "kill", "5"], cwd=self.folder, env=clean_environment(),
            capture_output=True, text=True, check=False,
        )
        self.assertEqual(here.returncode, 137)
        self.assertIn("tools_traced.hakt", here.stderr)
        self.assertEqual(len(read_trace(self.file)), 1)

    def test_what_cannot_be_done(self) -> None:
        self.refused("--", "no-such-program-anywhere", status=127)
        self.refused("-o", str(self.folder / "no" / "such.hakt"), "--", "ls", status=2)
        self.refused("-o", str(self.folder), "--", "ls", status=2)
        self.refused("-o", str(self.file), "--", program("calls_static"), status=2)
        self.refused("-o", str(self.file), "--", program("calls"), "none", status=3)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_an_old_file_stays_until_the_new_one_is_complete(self) -> None:
        old = gzip.compress(b"HAKT, an old one")
        self.file.write_bytes(old)
        self.refused("-o", str(self.file), "--", program("calls"), "none", status=3)
        self.assertEqual(self.file.read_bytes(), old)
        process = self.begin("wait", "10")
        process.kill()
        process.wait()
        self.assertEqual(self.file.read_bytes(), old)
        self.end_what_was_left()

    def test_processes_that_are_left_leave_nothing_behind(self) -> None:
        """They begin their files while the folder is removed."""
        children = "for (1..40) { if (!fork) { select(undef, undef, undef, $_ / 2000); $x = 'a' x 5000; exit } }"
        for _ in range(5):
            self.assertEqual(hakmem("trace", "--build", str(BUILD), "-o", str(self.file), "perl", "-e", children).returncode, 0)
        self.assertEqual(list(self.folder.iterdir()), [self.file])

    def test_a_daemon_that_made_no_call_yet_is_told_of(self) -> None:
        done = self.trace("perl", "-e", "close STDOUT; close STDERR; exit if fork; select(undef, undef, undef, 0.5)")
        self.assertIn("note: 1 process still running", done.stderr)

    def test_what_is_no_trace_is_not_replaced(self) -> None:
        for path in not_to_be_replaced(self.folder):
            with self.subTest(path.name):
                before = file_itself(path)
                self.refused("-o", str(path), "--", program("calls"), status=2)
                self.assertEqual(file_itself(path), before)

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """The command, once its program says that it is ready."""
        process = subprocess.Popen(
            [COMMAND, "trace", "--build", str(BUILD), "-o", str(self.file), "--", TRACED, *arguments],
            env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        assert process.stdout is not None and process.stderr is not None
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def end_what_was_left(self) -> None:
        (folder,) = self.folder.glob(".hakmem*")
        (file,) = folder.glob("calls.*")
        os.kill(int(file.name.split(".")[1]), signal.SIGKILL)

    def test_stopped_by_a_signal(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number):
                process = self.begin("wait", "1000")
                process.send_signal(number)
                self.assertEqual(process.wait(), -number)
                (traced,) = read_trace(self.file).values()
                self.assertEqual(counts(traced.called_from("tools_traced"))[FREE], 1000)
                self.assertEqual([path.name for path in self.folder.iterdir()], ["made.hakt"])


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("mount"), "mounts a file system")
class FullDisk(Traced):
    def small_disk(self, kib: int) -> Path:
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "none", str(disk)], check=False).returncode:
            self.skipTest("no file system may be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=False)
        return disk

    def test_what_there_was_room_for_is_readable(self) -> None:
        file = self.small_disk(1024) / "made.hakt"
        done = self.trace(TRACED, "threads", "3", "200000", file=file)
        self.assertRegex(done.stderr, r"[\d,]+ EVENTS LOST")
        (process,) = read_trace(file).values()
        own = process.called_from("tools_traced")
        self.assertGreater(len(own), 50000)
        self.assertEqual([path.name for path in file.parent.iterdir()], ["made.hakt"])
        self.assertGreaterEqual(len(process.events) + process.lost, 1200000)
        self.assertLess(len(process.events) + process.lost, 1200500)

    def test_no_room_at_all(self) -> None:
        disk = self.small_disk(64)
        (disk / "filler").write_bytes(bytes(60 << 10))
        done = self.trace(TRACED, "chain", "1", "10", file=disk / "made.hakt", status=3)
        self.assertIn("there was no room for a trace", done.stderr)
        self.assertEqual([path.name for path in disk.iterdir()], ["filler"])


if __name__ == "__main__":
    unittest.main()
