# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem profile`: what it prints, processes that are asked, and one line for everything wrong."""

from __future__ import annotations

import gzip
import io
import math
import os
import random
import re
import subprocess
import unittest
from pathlib import Path
from typing import Any
from unittest.mock import patch

from support import BUILD, COMMAND, Scratch, clean_environment, hakmem, program

from hakmem.base.errors import Refusal
from hakmem.profiling.profile import live_text, place_text
from hakmem.profiling.short_names import short_name
from hakmem.reading import table_file
from hakmem.reading.estimate import (
    NOTHING,
    NOW,
    PEAK,
    Evidence,
    counted_in_use,
    counted_peak,
    evidence_of,
    gamma_quantile,
    range_of,
    range_text,
    sampling_lines,
    size_about,
    sum_of,
)
from hakmem.reading.names import Symbols
from hakmem.reading.pprof import Profile, columns, contents, read, write
from hakmem.reading.scale import hindrance, scaled
from hakmem.reading.symbols import Frame, Names, parsed, with_names

ASKS = program("asks")
SECONDS_MOST = 60
WAITS = "import signal, sys\nkept = [bytes(1000) for _ in range(20000)]\nprint('ready', flush=True)\nwhile True: signal.pause()\n"


def made(*samples: tuple[list[int], list[int]]) -> Any:
    """A profile with one function for each location: f1, f2 ..."""
    profile = Profile()
    profile.string_table.extend(["", "alloc_objects", "alloc_space", "inuse_objects", "inuse_space"])
    for n in range(1, 5):
        profile.sample_type.add(type=n)
    for number in sorted({number for locations, _ in samples for number in locations}):
        profile.string_table.append(f"f{number}")
        profile.function.add(id=number, name=len(profile.string_table) - 1)
        profile.location.add(id=number, address=number).line.add(function_id=number, line=10 * number)
    for locations, values in samples:
        profile.sample.add(location_id=locations, value=values)
    return profile


def peaked(*samples: tuple[list[int], list[int], list[int]]) -> Any:
    """The same with what was live at a peak of 6 MiB, 1.5 s after the first sample."""
    profile = made(*(sample[:2] for sample in samples))
    for name in ("peak_objects", "peak_space", "hakmem: bytes in use at the peak, counted: 6291456, 1500000000 ns after the "
                 "first sample"):
        profile.string_table.append(name)
    last = len(profile.string_table) - 1
    profile.sample_type.add(type=last - 2)
    profile.sample_type.add(type=last - 1)
    profile.comment.append(last)
    for sample, (_, _, peak) in zip(profile.sample, samples):
        sample.value.extend(peak)
    return profile


class Silent(io.FileIO):
    """A regular file whose read would block: None, as of /proc/kmsg."""

    def read(self, size: int | None = -1, /) -> bytes:
        return None  # type: ignore[return-value]


class Printed(Scratch):
    def written(self, profile: Any, name: str = "a.pb.gz") -> Path:
        path = self.folder / name
        write(path, profile)
        return path

    def profile(self, *arguments: Path | str, status: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        ended = hakmem("profile", *map(str, arguments), **{"COLUMNS": "", **variables})
        self.assertEqual(ended.returncode, status, ended.stderr + ended.stdout)
        return ended

    def test_functions_by_what_they_hold(self) -> None:
        file = self.written(made(([1, 2], [4, 400, 1, 1024]), ([3, 2], [9, 900, 3, 3072]), ([2], [1, 9, 0, 0])))
        out = self.profile(file).stdout
        self.assertTrue(out.startswith("4.0 KiB in use in 4 blocks; 1.3 KiB ever, in 14\n"), out)
        rows = [re.split(r" {2,}", line.strip()) for line in out.splitlines() if line.rstrip().endswith(("f1", "f2", "f3"))]
        self.assertEqual(rows, [
            ["3.0 KiB", "75.0 %", "3.0 KiB", "75.0 %", "3", "900 B", "f3"],
            ["1.0 KiB", "25.0 %", "1.0 KiB", "25.0 %", "1", "400 B", "f1"],
            ["0 B", "0.0 %", "4.0 KiB", "100.0 %", "0", "9 B", "f2"],
        ])
        one = self.profile("--rows", "1", file).stdout.splitlines()
        self.assertEqual(len(one), len(out.splitlines()) - 1)
        self.assertEqual(one[-1], "2 smaller functions, 1.0 KiB together, not shown (--rows 0)")
        stacks = self.profile("--rows", "1", "--leaks", file).stdout.splitlines()
        self.assertEqual(stacks[-1], "1 smaller stack, 1.0 KiB together, not shown (--rows 0)")

    def test_functions_that_hold_nothing_do_not_hide_the_others(self) -> None:
        """But where none holds anything they are what there was, and by what was ever allocated they count."""
        freed = ([4], [7, 700, 0, 0])
        for samples, words, functions in (
            ((([1], [1, 100, 1, 100]), freed), (), ["f1"]),
            ((([1], [1, 100, 1, 100]), freed), ("--by", "alloc_space"), ["f4", "f1"]),
            ((freed,), (), ["f4"]),
        ):
            out = self.profile(*words, self.written(made(*samples))).stdout
            self.assertEqual(re.findall(r"f\d(?=\s*$)", out, re.MULTILINE), functions, out)

    def test_the_peak(self) -> None:
        """Another function had most then, and one that holds something now held nothing."""
        profile = peaked(([1, 2], [4, 400, 1, 1024], [2, 5 << 20]), ([3, 2], [9, 900, 3, 3072], [0, 0]))
        file = self.written(profile)
        out = self.profile("--peak", file).stdout
        self.assertTrue(out.startswith("5.0 MiB at the peak in 2 blocks; 1.3 KiB ever, in 13 (bytes"), out)
        self.assertIn("6.0 MiB (6,291,456 B) in use by the counters, 1.5 s after the first sample, older blocks too", out)
        rows = [re.split(r" {2,}", line.strip()) for line in out.splitlines() if line.rstrip().endswith(("f1", "f2", "f3"))]
        self.assertEqual(rows, [
            ["5.0 MiB", "100.0 %", "5.0 MiB", "100.0 %", "2", "400 B", "f1"],
            ["0 B", "0.0 %", "5.0 MiB", "100.0 %", "0", "0 B", "f2"],
        ])
        self.assertEqual(self.profile("--peak", "--leaks", file).stdout.splitlines()[2:], [
            "", "5.0 MiB in 2 blocks, 100.0 % of what was live at the peak", "    f1", "    f2",
        ])
        now = self.profile(file).stdout
        self.assertIn("4.0 KiB in use in 4 blocks", now)
        self.assertIn("at the peak 6.0 MiB (6,291,456 B) in use by the counters, 1.5 s after the first sample; --peak shows", now)
        old = self.written(made(([1], [1, 1, 1, 1])))
        self.assertRegex(self.profile("--peak", old, status=2).stderr, r"\Ahakmem: .*a.pb.gz: no peak_space in this profile: .*\n\Z")

    def test_what_was_temporary_and_the_rate(self) -> None:
        profile = peaked(([1, 2], [400, 40000, 1, 100], [2, 5 << 20]), ([3, 2], [9, 900, 3, 300], [0, 0]))
        for name, values in (("temporary_objects", (390, 0)), ("temporary_space", (39000, 0))):
            profile.string_table.append(name)
            profile.sample_type.add(type=len(profile.string_table) - 1)
            for sample, value in zip(profile.sample, values):
                sample.value.append(value)
        profile.duration_nanos = 2_000_000_000
        file = self.written(profile)
        out = self.profile("--temporary", file).stdout
        self.assertTrue(out.startswith("38.1 KiB temporary in 390 blocks; 39.9 KiB ever, in 409 (20.0 KiB/s) (bytes"), out)
        rows = [re.split(r" {2,}", line.strip()) for line in out.splitlines() if line.rstrip().endswith(("f1", "f2", "f3"))]
        self.assertEqual([(row[0], row[-3], row[-1]) for row in rows], [("38.1 KiB", "390", "f1"), ("0 B", "0", "f2")])
        self.assertIn("100.0 % of what was temporary", self.profile("--temporary", "--leaks", file).stdout)
        self.assertEqual(
            self.profile("--temporary", "--peak", file, status=2).stderr, "hakmem: --peak or --temporary, one of them\n"
        )

    def test_few_samples_are_called_a_hint(self) -> None:
        """Not what is large enough to be seen for certain."""
        profile = peaked(([1], [4, 4 << 20, 1, 90000], [1, 90000]), ([2], [9, 9 << 20, 3, 9 << 20], [3, 9 << 20]))
        profile.period = 1 << 16
        for text in (f"#hakmem samples: 1 1000 {1 << 20}; 3 {9 << 20} 0;", f"#hakmem peak samples: 1 1000 {1 << 20}; 3 {9 << 20} 0;"):
            profile.string_table.append(text)
            profile.comment.append(len(profile.string_table) - 1)
        file = self.written(profile)
        for words in ((), ("--peak",)):
            lines = self.profile("--leaks", *words, file).stdout.splitlines()
            self.assertIn("from 3 samples, 99", next(line for line in lines if line.startswith("≈ 9.0 MiB")))
            self.assertIn("from 1 sample (a hint, no more), ", next(line for line in lines if line.startswith("≈ 87.9 KiB")))
            rows = self.profile(*words, file, COLUMNS="160").stdout.splitlines()
            self.assertRegex(next(line for line in rows if line.rstrip().endswith("f1")), r" 1 \(hint\) ")
            self.assertNotIn("hint", next(line for line in rows if line.rstrip().endswith("f2")))

    def test_leaks_by_stack(self) -> None:
        file = self.written(made(([1, 2], [4, 400, 1, 1024]), ([3, 2], [9, 900, 3, 3072]), ([2], [1, 9, 0, 0])))
        lines = self.profile("--leaks", file).stdout.splitlines()
        self.assertEqual(lines[1:], [
            "", "3.0 KiB in 3 blocks, 75.0 % of what is live", "    f3", "    f2",
            "", "1.0 KiB in 1 block, 25.0 % of what is live", "    f1", "    f2",
        ])

    def test_a_named_profile_needs_no_files(self) -> None:
        file, out = self.written(made(([1, 2], [4, 400, 1, 1024]))), self.folder / "out.pb.gz"
        self.profile("-o", out, file)
        self.assertEqual(contents(out)[:1], gzip.decompress(out.read_bytes())[:1])
        self.assertEqual(Names(read(out)).frames, {1: [Frame("f1", "", 10)], 2: [Frame("f2", "", 20)]})
        self.assertEqual(with_names(read(out), Names(read(out))), read(out))

    def test_wrong_files_are_one_line_each(self) -> None:
        text, torn, other = (self.folder / name for name in ("text", "torn", "other"))
        text.write_text("no profile")
        torn.write_bytes(self.written(made(([1], [1, 1, 1, 1]))).read_bytes()[:-12])
        write(other, Profile())
        lost = made(([1], [1, 1, 1, 1]))
        del lost.location[:]
        for file, said in (
            (self.folder / "none", "no such file or directory"), (self.folder, "is a directory"),
            (text, "no profile in pprof's format, or damaged"), (torn, "damaged"),
            (other, "no heap profile, or damaged"), (self.written(lost, "lost"), "no heap profile, or damaged"),
        ):
            ended = self.profile(file, status=2)
            self.assertEqual((ended.stdout, ended.stderr), ("", f"hakmem: {file}: {said}\n"))
        good = self.written(made(([1], [1, 1, 1, 1])))
        self.assertIn("--by size: one of inuse_space", self.profile("--by", "size", good, status=2).stderr)
        self.assertIn("one profile only", self.profile("-o", self.folder / "x", good, good, status=2).stderr)
        nowhere = self.folder / "none" / "x"
        self.assertEqual(self.profile("-o", nowhere, good, status=1).stderr, f"hakmem: {nowhere}: no such file or directory\n")

    def test_what_would_harm_a_terminal_is_not_printed(self) -> None:
        harmful = made(([1], [1, 1, 1, 1]))
        harmful.string_table[harmful.function[0].name] = "f\x1b]0;title\x07\n1"
        harmful.string_table.append("hakmem: \x1b[31m")
        harmful.comment.append(len(harmful.string_table) - 1)
        for option in ((), ("--leaks",)):
            out = self.profile(*option, self.written(harmful)).stdout
            self.assertIn(r"f\x1b]0;title\x07\x0a1", out)
            self.assertFalse("\x1b" in out or "\x07" in out, out)

    def test_few_bytes_that_unpack_to_many_and_a_fifo(self) -> None:
        bomb, fifo = self.folder / "bomb", self.folder / "fifo"
        with patch("hakmem.reading.pprof.BYTES_MOST", 1 << 16):
            for size, said in (((1 << 16) + 1, "larger than any profile"), (1 << 16, "no profile")):
                bomb.write_bytes(gzip.compress(bytes(size)))
                self.assertRaisesRegex(Refusal, said, read, bomb)
        os.mkfifo(fifo)
        self.assertRaisesRegex(Refusal, "not a regular file", read, fifo)

    def test_a_fifo_is_refused_at_once(self) -> None:
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        self.assertEqual(self.profile(fifo, status=2).stderr, f"hakmem: {fifo}: not a regular file\n")

    def test_a_regular_file_that_has_nothing_yet(self) -> None:
        file = self.folder / "regular"
        file.touch()
        with patch("hakmem.reading.pprof.open", lambda *_, **__: Silent(file), create=True):
            self.assertRaisesRegex(Refusal, "no profile|no heap profile", read, file)

    def test_a_mapping_whose_file_is_a_fifo_is_not_waited_for(self) -> None:
        fifo, page = self.folder / "fifo", self.folder / "page.html"
        os.mkfifo(fifo)
        profile = made(([1], [1, 100, 1, 100]))
        del profile.location[0].line[:]
        profile.string_table.append(str(fifo))
        profile.mapping.add(id=1, memory_limit=4096, filename=len(profile.string_table) - 1)
        profile.location[0].mapping_id = 1
        file = str(self.written(profile))
        for words in (("profile", file), ("profile", "--leaks", file), ("report", file, "-o", str(page))):
            ended = subprocess.run(
                [COMMAND, *words], env=clean_environment(), capture_output=True, text=True, check=False, timeout=SECONDS_MOST
            )
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertIn("fifo+0x1", self.profile(file).stdout)
        found = Symbols(str(fifo))
        self.assertEqual((found.segments, found.names), ([], []))

    def test_what_is_no_regular_file_is_written_to_and_not_replaced(self) -> None:
        file, link = self.written(made(([1], [1, 1, 1, 1]))), self.folder / "link"
        link.symlink_to("/dev/null")
        self.profile("-o", link, file)
        self.assertTrue(link.is_symlink())
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.profile("-o", fifo, file)
        self.assertTrue(fifo.is_fifo())
        self.assertEqual(os.read(reader, 2), b"\x1f\x8b")

    def test_a_name_as_long_as_the_file_system_allows(self) -> None:
        file = self.written(made(([1], [1, 1, 1, 1])), "n" * 255)
        self.assertEqual(len(read(file).sample), 1)

    def start(self, *command: str, **variables: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(command, env=clean_environment(**variables), stdout=subprocess.PIPE, text=True)
        for end in (process.stdout.close, process.wait, process.kill):
            self.addCleanup(end)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_a_process_is_asked(self) -> None:
        preload = {"LD_PRELOAD": str(BUILD / "libhakmem.so")}
        python = ("/usr/bin/python3", "-c", WAITS)
        process = self.start(*python, **preload, HAKMEM_PROFILE_FILE=str(self.folder / "heap"), HAKMEM_PROFILE_BYTES="4K")
        for _ in range(2):
            out = self.profile(str(process.pid)).stdout
            self.assertRegex(out, r"(?m)\A2\d\.\d MiB in use in ≈ (19|2\d),\d{3} blocks, from [\d,]+ samples; .*\nscaled by [01]\.\d\d to the 2")
        self.assertIsNone(process.poll(), "it goes on")
        without, plain = self.start(*python, **preload), self.start(*python)
        table = self.start(*python, **preload, HAKMEM_PROFILE_TABLE=str(self.folder / "table"))
        (self.folder / f"table.{table.pid}").unlink()
        other = self.start(*python, HAKMEM_PROFILE_FILE=str(self.folder / "heap"))
        deaf = self.start(*python, **preload, HAKMEM_PROFILE_FILE=str(self.folder / "heap"), HAKMEM_PROFILE_SIGNALS="off")
        no_hakmem = "does not run on HAKMEM: hakmem exec --watch -- PROGRAM starts one that does"
        idle = "took no memory beyond its caches within 0.2 s, so nothing was sampled (what it has: hakmem exec --watch -- "
        for asked, said in ((plain, no_hakmem), (other, no_hakmem), (without, idle)):
            refusal = self.profile("--seconds", "0.2", str(asked.pid), status=2).stderr
            self.assertTrue(refusal.startswith(f"hakmem: process {asked.pid} {said}"), refusal)
            self.assertIsNone(asked.poll(), "it was not ended")
        for asked in (table, deaf):
            self.assertIn("read from its memory, as it samples by itself", self.profile(str(asked.pid)).stdout)
            self.assertIsNone(asked.poll(), "it was not ended")
        dead = subprocess.Popen(["true"])
        dead.wait()
        self.assertEqual(self.profile(str(dead.pid), status=2).stderr, f"hakmem: there is no process {dead.pid}\n")

    def test_a_process_that_keeps_a_table_need_not_be_asked(self) -> None:
        settings = {"HAKMEM_PROFILE_TABLE": str(self.folder / "table"), "HAKMEM_PROFILE_BYTES": "4K"}
        settings["LD_PRELOAD"] = str(BUILD / "libhakmem.so")
        process = self.start("/usr/bin/python3", "-c", WAITS, PYTHONMALLOC="malloc", **settings)
        file, named = self.folder / f"table.{process.pid}", self.folder / "named.pb.gz"
        self.assertIn("of a process that runs)", self.profile(str(process.pid)).stdout)
        page = hakmem("report", str(process.pid), "--seconds", "0.1", "-o", str(self.folder / "page.html"))
        self.assertIn("of a process that runs)", page.stdout, page.stderr)
        self.assertIsNone(process.poll())
        process.kill()
        process.wait()
        leaks = self.profile("--leaks", "-o", named, file).stdout
        self.assertIn("of a process that was killed, or ended without exit)", leaks.splitlines()[0])
        self.assertIn("<module>  <string>:", leaks)
        self.assertEqual(self.profile("--leaks", named).stdout, leaks)
        file.write_bytes(file.read_bytes()[:-4096])
        ended = self.profile(file, status=2)
        self.assertEqual((ended.stdout, ended.stderr), ("", f"hakmem: {file}: a table of samples, cut off\n"))

    @unittest.skipIf(subprocess.run(["unshare", "-pmf", "true"], check=False).returncode, "no namespaces here")
    def test_of_a_process_in_a_namespace_of_its_own(self) -> None:
        """Its file has the number that it has there, and lies where its own mounts have it."""
        inside = self.folder / "inside"
        inside.mkdir()
        for variable in ("HAKMEM_PROFILE_TABLE", "HAKMEM_PROFILE_FILE"):
            settings = (f"LD_PRELOAD={BUILD / 'libhakmem.so'}", f"{variable}={inside}/heap", "HAKMEM_PROFILE_BYTES=4K")
            line = 'mount -t tmpfs none "$0" && cp -L /usr/bin/python3 "$0/program" && exec env "$@"'
            outer = self.start("unshare", "-pmf", "--mount-proc", "--kill-child", "sh", "-c", line, str(inside),
                               *settings, str(inside / "program"), "-c", WAITS, PYTHONMALLOC="malloc")
            asked = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().strip()
            self.assertEqual(list(inside.iterdir()), [], "seen from here there is nothing")
            page = self.folder / "page.html"
            said = self.profile("--rows", "0", asked).stdout
            self.assertIn("in use in", said)
            self.assertRegex(said, r" _?Py[A-Z]\w+\n|Py_BytesMain", "named by the file that it has there")
            if "TABLE" in variable:
                self.assertIn("of a process that runs", said)
            made = hakmem("report", asked, "--seconds", "0.1", "-o", str(page))
            self.assertEqual((made.returncode, made.stderr), (0, ""), variable)

    def test_of_a_process_that_overwrote_its_environment(self) -> None:
        """As redis does. Its memory says what it does."""
        perl = ("/usr/bin/perl", "-e", "$0 = 'x' x 100000; $| = 1; print qq(ready\n); sleep 60")
        preload = {"LD_PRELOAD": str(BUILD / "libhakmem.so"), "HAKMEM_PROFILE_BYTES": "4K"}
        kept = self.start(*perl, **preload, HAKMEM_PROFILE_TABLE=str(self.folder / "table"))
        self.assertEqual(Path(f"/proc/{kept.pid}/environ").read_bytes().strip(b"\0 x"), b"")
        self.assertIn("of a process that runs)", self.profile(str(kept.pid)).stdout)
        asked = self.start(*perl, **preload, HAKMEM_PROFILE_FILE=str(self.folder / "heap"))
        self.assertIn("read from its memory, as it samples by itself", self.profile(str(asked.pid)).stdout)
        without = self.start(*perl, **preload)
        self.assertIn("took no memory", self.profile("--seconds", "0.2", str(without.pid), status=2).stderr)

    def test_another_build_is_said_and_not_named(self) -> None:
        copy = self.folder / "program"
        copy.write_bytes(Path(ASKS).read_bytes())
        copy.chmod(0o755)
        environment = clean_environment(
            LD_PRELOAD=str(BUILD / "libhakmem.so"), HAKMEM_PROFILE_FILE=str(self.folder / "heap"), HAKMEM_PROFILE_BYTES="1"
        )
        subprocess.run([copy], env=environment, capture_output=True, check=False)
        file = next(self.folder.glob("heap.*"))
        self.assertIn("ask_for_large", self.profile("--rows", "0", file).stdout)
        copy.write_bytes(Path(program("turns")).read_bytes())
        ended = self.profile("--rows", "0", file)
        self.assertNotIn("ask_for_large", ended.stdout)
        self.assertIn("program+0x", ended.stdout)
        self.assertEqual(
            ended.stderr, f"note: {copy} is another build than the one that ran; its functions are not named\n"
        )


class Tables(Scratch):
    """Files as the setting profile_table makes them, and worse."""

    def table(self, *chunks: bytes, mean: int = 4096, peak: tuple[int, int, int] = (0, 0, 0), last: int = 0, in_use: int = 0,
              whole: int = 0, live: int = 0, pid: int = 1) -> Path:
        head = table_file.FACTS.pack(table_file.MAGIC, *table_file.SIZES, pid, 1, mean, 0, 0, 1, len(chunks) + 1, b"x", in_use, *peak, last,
                                     whole, live)
        path = self.folder / "table.1"
        path.write_bytes(b"".join(chunk.ljust(table_file.CHUNK, b"\0") for chunk in (head, *chunks)))
        return path

    def chunk(self, magic: bytes, *records: bytes) -> bytes:
        return magic.ljust(table_file.CHUNK_HEAD, b"\0") + b"".join(records)

    def image(self, first: int, end: int, since: int) -> bytes:
        return table_file.IMAGE.pack(end, first, 0, since, 0, 0, b"")

    def stack(self, number: int, *frames: int) -> bytes:
        return self.stored(number, (0.0, 0.0, 0, 0, 0.0, 0), *frames)

    def stored(self, number: int, peak: tuple[float, float, int, int, float, int], *frames: int) -> bytes:
        head = table_file.STACK.pack(len(frames), number, 1.0, 8.0, 8.0, *peak, 1.0, 8.0)
        return head + b"".join(f.to_bytes(8, "little") for f in frames)

    def test_what_did_not_change_since_the_peak_is_what_is_live(self) -> None:
        stacks = self.chunk(
            b"HAKPRSTK", self.stored(1, (2.0, 700.0, 1, 350, 9e4, 7), 5), self.stored(2, (1.0, 1.0, 1, 1, 1.0, 6), 6),
        )
        rows = self.chunk(b"HAKPRROW", *(table_file.ROW.pack(n, 100 * n, n, 2.0, n) for n in (1, 2)))
        profile = read(self.table(stacks, rows, mean=100, peak=(7, 5000, 2_000_000_000), last=3_000_000_000))
        at = [columns(profile)[name] for name in ("inuse_space", "peak_objects", "peak_space", "temporary_objects", "temporary_space")]
        self.assertEqual([[sample.value[n] for n in at] for sample in profile.sample], [[200, 2, 700, 1, 8], [400, 2, 400, 1, 8]])
        self.assertEqual(profile.duration_nanos, 3_000_000_000)
        self.assertEqual(evidence_of(profile, PEAK), [Evidence(1, 350, 90000.0), Evidence(1, 200, 80000.0)])
        self.assertEqual(counted_peak(profile), (5000, 2_000_000_000))
        for wrong in (float("nan"), -1.0):
            stack = self.stored(1, (2.0, wrong, 1, 350, 9e4, 7), 5)
            self.assertRaisesRegex(Refusal, "damaged", read, self.table(self.chunk(b"HAKPRSTK", stack)))

    def test_a_table_is_scaled_where_nothing_was_freed_after_the_count(self) -> None:
        """Destructors may free blocks after the counters were read. A file of an earlier version says nothing."""
        stacks = self.chunk(b"HAKPRSTK", self.stored(1, (40.0, 40000.0, 40, 4000, 4e6, 7), 5))
        rows = self.chunk(b"HAKPRROW", *(table_file.ROW.pack(n, 100, 100, 10.0, 1) for n in range(1, 31)))
        for whole, live, sizes, said in (
            (1, 30, [31000, 42000], None), (1, 31, [30000, 42000], "blocks were freed between the count and the end"),
            (0, 30, [30000, 40000], "blocks may be older than the sampling, or from while it was off"),
        ):
            profile = read(self.table(stacks, rows, mean=1000, peak=(7, 42000, 5), in_use=31000, whole=whole, live=live))
            self.assertEqual(hindrance(profile, NOW), said)
            at = [columns(scaled(profile))[name] for name in ("inuse_space", "peak_space")]
            self.assertEqual([profile.sample[0].value[n] for n in at], sizes)

    def test_numbers_that_a_profile_cannot_hold(self) -> None:
        stacks = self.chunk(b"HAKPRSTK", self.stack(1, 5))
        rows = self.chunk(b"HAKPRROW", *(table_file.ROW.pack(n, 1 << 40, 8, float(1 << 20), 1) for n in range(1, 100)))
        wrong = ({"mean": 1 << 63}, {"live": 1 << 63}, {"pid": (1 << 22) + 1})
        for chunks, facts in (*(((stacks,), one) for one in wrong), ((stacks, rows), {})):
            self.assertRaisesRegex(Refusal, "damaged", read, self.table(*chunks, **facts))

    def test_images_in_one_place_at_different_times(self) -> None:
        images = [self.image(100, 200, 1), self.image(150, 300, 2), self.image(120, 130, 3), self.image(500, 600, 4)]
        frames = (111, 126, 161, 251, 501, 701)
        profile = read(self.table(
            self.chunk(b"HAKPRIMG", *images), self.chunk(b"HAKPRSTK", *(self.stack(n, *frames) for n in (3, 1, 2))),
        ))
        mapping = {location.id: location.mapping_id for location in profile.location}
        found = [[mapping[number] for number in sample.location_id] for sample in profile.sample]
        self.assertEqual(found, [[1, 1, 1, 2, 4, 0], [1, 1, 2, 2, 4, 0], [1, 3, 2, 2, 4, 0]])

    def test_images_one_inside_another(self) -> None:
        """A list of all images for each edge would have some 200 million entries."""
        images = [self.image(8 + n, (1 << 40) - n, 1) for n in range(16 * 800)]
        chunks = [self.chunk(b"HAKPRIMG", *images[n : n + 800]) for n in range(0, len(images), 800)]
        profile = read(self.table(*chunks, self.chunk(b"HAKPRSTK", self.stack(1, 1 << 30))))
        self.assertEqual(profile.location[0].mapping_id, len(images))


class Estimates(unittest.TestCase):
    """Of tables that are made by chance, of which the truth is known."""

    PERIOD = 1 << 16
    HEAPS = (  # bytes of a block and how many there are
        ((1000, 60),), ((1000, 400),), ((64, 40000),), ((100000, 9),), ((500000, 5),), ((300, 900), (70000, 3), (2 << 20, 1)),
        ((16, 9000), (4096, 40)), ((200000, 20), (32, 90000)),
    )

    def sampled(self, heap: tuple[tuple[int, int], ...], chance: random.Random) -> tuple[Any, int]:
        """A stack for each size, and the truth."""
        profile = made(*(([n], [0, 0, 0, 0]) for n in range(1, len(heap) + 1)))
        profile.period, parts = self.PERIOD, []
        for (size, count), sample in zip(heap, profile.sample):
            share = -math.expm1(-(size + 16) / self.PERIOD)
            found = sum(chance.random() < share for _ in range(count))
            sample.value[:] = [int(v / share + 0.5) for v in (found, found * size) * 2]
            parts.append(f"{found} {found * size} {int(found * size * size * (1 - share) / share ** 2 / self.PERIOD)}")
        profile.string_table.append(f"#hakmem samples: {'; '.join(parts)};")
        profile.comment.append(len(profile.string_table) - 1)
        return profile, sum(size * count for size, count in heap)

    def test_the_range_has_the_truth_in_nine_profiles_of_ten(self) -> None:
        """In 19 of 20, as it says; each heap by itself."""
        chance, runs = random.Random(1), 200
        for heap in self.HEAPS:
            with self.subTest(heap=heap):
                inside = short = 0
                for _ in range(runs):
                    profile, truth = self.sampled(heap, chance)
                    told = sum(sample.value[3] for sample in profile.sample)
                    low, high = range_of(told, sum_of(evidence_of(profile)), self.PERIOD)
                    self.assertLessEqual(low, max(told, 1))
                    self.assertGreaterEqual(high, told)
                    inside, short = inside + (low * 0.999 <= truth <= high), short + (high < 4 * truth + 8 * self.PERIOD)
                self.assertGreaterEqual(inside, 0.92 * runs)
                self.assertEqual(short, runs, "and it is not so wide that it says nothing")

    def test_without_its_comment_it_is_taken_from_means(self) -> None:
        profile, _ = self.sampled(((1000, 4000),), random.Random(2))
        exact = sum_of(evidence_of(profile))
        del profile.comment[:]
        for one, other in zip(exact[:3], sum_of(evidence_of(profile))[:3]):
            self.assertAlmostEqual(one / other, 1, delta=0.01)

    def test_comments_that_are_another_profiles_are_not_believed(self) -> None:
        profile, _ = self.sampled(((1000, 4000),), random.Random(3))
        for text in ("#hakmem samples: 0 0 0;", "#hakmem samples: 1 1 1; 2 2 2;", f"#hakmem samples: {'9' * 400} 1 1;", "#hakmem samples:"):
            profile.string_table[-1] = text
            self.assertGreater(sum_of(evidence_of(profile)).samples, 30)

    def test_quantiles(self) -> None:
        """Of the gamma distribution of shape 1 they are logarithms; of 50 they are tabled."""
        for shape, z, true, within in ((1, 1.959964, -math.log(0.025), 0.01), (50, 1.959964, 64.781, 0.001), (50, -1.959964, 37.111, 0.001)):
            self.assertAlmostEqual(gamma_quantile(shape, z) / true, 1, delta=within)
        self.assertLess(gamma_quantile(1, -1.959964), -math.log(0.975))

    def test_words(self) -> None:
        self.assertEqual(size_about(5000, Evidence(5, 5000, 0.0), 1), "4.9 KiB")
        self.assertEqual(size_about(0, NOTHING, 4096), "likely less than 12.0 KiB")
        self.assertEqual(size_about(5 << 20, Evidence(37, 1 << 20, 1e12), 65536), "≈ 5.0 MiB (3.3 to 7.1 MiB)")
        self.assertEqual(range_text(900, 5000), "900 B to 4.9 KiB")

    def test_none_that_is_live_and_all_that_is(self) -> None:
        profile = made(([1], [3, 300, 0, 0]))
        self.assertEqual(live_text(profile, " in use"), "0 B in use in 0 blocks; 300 B ever, in 3")
        profile.period = 1
        self.assertEqual(live_text(profile, " in use"), "0 B in use in 0 blocks; 300 B ever, in 3")
        profile.period = 4096
        self.assertEqual(
            live_text(profile, " in use"),
            "no block that was sampled is live: likely less than 12.0 KiB in use; ≈ 300 B (4 B to 14.9 KiB) ever, in ≈ 3",
        )
        self.assertEqual([line[:40] for line in sampling_lines(profile)][0], "at least one byte in 4.0 KiB is sampled:")
        self.assertEqual(counted_in_use(profile), None)
        profile = peaked(([1], [3, 300, 1, 100], [0, 0]))
        profile.period = 4096
        self.assertIn("no block that was sampled was live at the peak: likely", live_text(profile, " at the peak", PEAK))
        self.assertIn(" in ≈ 1 block", live_text(profile, " in use"))


class Lines(unittest.TestCase):
    def test_a_place_has_a_line_only_where_one_is_known(self) -> None:
        self.assertEqual(place_text(Frame("f", "a.c", 7)), "f  a.c:7")
        self.assertEqual(place_text(Frame("f", "a.c", 0)), "f  a.c")
        self.assertEqual(place_text(Frame("f", "", 0)), "f")

    def test_what_addr2line_says(self) -> None:
        text = (
            "0x0000000000001139\nstd::get(int)\n/usr/include/x.h:12 (discriminator 2)\nmain\n/a b.cpp:7\n"
            "0x0000000000002000\n??\n??:0\n0x0000000000003000\nf\n/c.c:?\n"
        )
        self.assertEqual(parsed(text), {
            0x1139: [Frame("std::get(int)", "/usr/include/x.h", 12), Frame("main", "/a b.cpp", 7)],
            0x2000: [Frame("??", "", 0)], 0x3000: [Frame("f", "/c.c", 0)],
        })


class ShortNames(unittest.TestCase):
    """A terminal has no room for what templates are made of, which hid the one function that the reader wrote."""

    LONG = "std::vector<std::unique_ptr<char [], std::default_delete<char []> >, std::allocator<int> >"

    def test_long_arguments_of_templates_are_left_out(self) -> None:
        for name, short in (
            (f"{self.LONG}::push_back(int&&)", "std::vector<...>::push_back(int&&)"),
            (f"{self.LONG}::emplace_back<char*>(char*&&)", "std::vector<...>::emplace_back<char*>(char*&&)"),
            (f"bool std::operator<< <{self.LONG}>(int)", "bool std::operator<< <...>(int)"),
            (f"bool operator><{self.LONG}>(int)", "bool operator><...>(int)"),
            (f"auto f({self.LONG}) -> {self.LONG}::iterator", "auto f(std::vector<...>) -> std::vector<...>::iterator"),
        ):
            self.assertEqual(short_name(name), short)

    def test_short_names_and_what_is_no_pair_stay(self) -> None:
        for name in ("std::vector<std::pair<int, std::string>>::at", "a<b" * 40, "a>b" * 40, "", "x" * 300):
            self.assertEqual(short_name(name), name)

    def test_stacks_have_short_names(self) -> None:
        frame = Frame(f"{self.LONG}::push_back(int&&)", "/a.cpp", 3)
        self.assertEqual(place_text(frame), "std::vector<...>::push_back(int&&)  /a.cpp:3")


if __name__ == "__main__":
    unittest.main()
