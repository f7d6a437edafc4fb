# SPDX-License-Identifier: MIT OR Apache-2.0
"""Profiles of whole processes: how they end, what is in them, and who is named.

Run with the variables of process_case.py set. Read by protobuf's own library (hakmem.pprof).
"""

import gzip
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from process_case import LIBRARY, ProcessCase, environment, limit, program, run

from hakmem.reading.estimate import NOW, PEAK, counted_in_use, counted_peak, evidence_of, range_of, sum_of, told
from hakmem.reading.pprof import columns, read, text_of
from hakmem.reading.scale import hindrance, scale_of, scaled
from hakmem.reading.symbols import Frame, Names

SOURCE = Path(__file__).with_name("profiled.cpp")
NODE_BYTES = 208
PROGRAM = program("profiled")


def line_of(text: str) -> int:
    return 1 + next(n for n, line in enumerate(SOURCE.read_text().splitlines()) if text in line)


class ProfileCase(ProcessCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "heap"

    def settings(self, **more: str) -> dict[str, str]:
        return {"HAKMEM_PROFILE_FILE": str(self.path), "HAKMEM_PROFILE_BYTES": "4096"} | more

    def files(self) -> list[Path]:
        return sorted(self.folder.iterdir())

    def profile(self) -> Any:
        """The only one."""
        files = self.files()
        self.assertEqual(len(files), 1, files)
        return read(files[0])

    def profile_of(self, *words: str, **settings: str) -> Any:
        self.expect_quiet_success(run(*words, **self.settings(**settings)))
        return self.profile()

    def start(self, *words: str, **settings: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            words, env=environment(True, **self.settings(**settings)), stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process


def total(profile: Any, name: str) -> int:
    column = columns(profile)[name]
    return sum(sample.value[column] for sample in profile.sample)


def live_stacks(profile: Any) -> list[tuple[int, list[Frame]]]:
    """Bytes and frames, most first."""
    names, column = Names(profile), columns(profile)["inuse_space"]
    found = [
        (sample.value[column], [frame for n in sample.location_id for frame in names.frames[n]])
        for sample in profile.sample
    ]
    return sorted(found, key=lambda item: -item[0])


def peak_of(profile: Any, *functions: str) -> tuple[int, float, float]:
    """What these functions themselves had at the peak, and its range."""
    names, column, size, parts = Names(profile), columns(profile)[PEAK.space], 0, []
    for sample, evidence in zip(profile.sample, evidence_of(profile, PEAK)):
        if any(each in names.frames[sample.location_id[0]][0].function for each in functions):
            size, parts = size + sample.value[column], [*parts, evidence]
    return (size, *range_of(size, sum_of(parts), profile.period))


class Contents(ProfileCase):
    def test_the_leaking_line_is_named(self) -> None:
        profile = self.profile_of(PROGRAM, "leak")
        size, frames = live_stacks(profile)[0]
        self.assertAlmostEqual(size / (200000 * NODE_BYTES), 1, delta=0.05)
        self.assertIn("leak_nodes(int)", frames[0].function)
        self.assertEqual((Path(frames[0].file).name, frames[0].line), (SOURCE.name, line_of("the leaking line")))
        self.assertIn("main", [frame.function for frame in frames])

    def test_what_has_no_name_gets_none(self) -> None:
        """Of a stripped program addr2line says the exported function before, however far."""
        with tempfile.TemporaryDirectory() as folder:
            stripped = Path(folder, "stripped")
            subprocess.run(["strip", "-o", stripped, PROGRAM], check=True)
            frames = live_stacks(self.profile_of(str(stripped), "leak"))[0][1]
        self.assertRegex(frames[0].function, r"^stripped\+0x[0-9a-f]+$")
        self.assertNotIn("main", [frame.function for frame in frames])

    def test_what_is_live_is_what_is_in_use(self) -> None:
        lines = {line_of("calloc(n, 1)"), line_of("realloc(p, n * 2)")}
        for mean, within in (("1", 0.001), ("2048", 0.05)):
            shutil.rmtree(self.folder)
            self.folder.mkdir()
            result = run(PROGRAM, "all", **self.settings(HAKMEM_PROFILE_BYTES=mean))
            self.expect_quiet_success(result)
            stacks = live_stacks(self.profile())
            live = sum(size for size, frames in stacks if any(frame.line in lines for frame in frames))
            self.assertAlmostEqual(live / int(result.stdout), 1, delta=within)

    def test_requested_bytes_are_a_column(self) -> None:
        profile = self.profile_of(PROGRAM, "leak", HAKMEM_PROFILE_BYTES="1")
        nodes = max(s.value[columns(profile)["inuse_requested"]] for s in profile.sample)
        self.assertAlmostEqual(nodes / (200000 * 200), 1, delta=0.01)
        self.assertEqual(text_of(profile, profile.default_sample_type), "inuse_space")
        self.assertEqual(profile.period, 1)

    def test_it_says_what_its_sums_are_made_of(self) -> None:
        """And what is in use by the counters, which the sums are near to."""
        for mean, off in (("1", 0.01), ("4096", 0.1)):
            profile = self.profile_of(PROGRAM, "leak", HAKMEM_PROFILE_BYTES=mean)
            self.files()[0].unlink()
            evidence, size = told(profile), total(profile, "inuse_space")
            self.assertIsNotNone(evidence)
            sums = sum_of(evidence)
            live = int(text_of(profile, profile.comment[0]).split(" of them live")[0].split()[-1])
            self.assertEqual(sums.samples, live)
            self.assertAlmostEqual(counted_in_use(profile) / size, 1, delta=off)
            low, high = range_of(size, sums, profile.period)
            self.assertTrue(low <= size <= high)
            if mean == "1":
                self.assertEqual((sums.seen, sums.variance), (size, 0))
            else:
                self.assertAlmostEqual((high - low) / size, 2 * 1.96 * (sums.variance ** 0.5) / size, delta=0.002)

    def test_the_peak_is_what_was_live_then(self) -> None:
        """The first pile, which is freed; the counters have its vector, too, of at most 4 %."""
        for mean, within in (("1", 0.009), ("4096", 0.05)):
            result = run(PROGRAM, "peaks", "16", **self.settings(HAKMEM_PROFILE_BYTES=mean))
            self.expect_quiet_success(result)
            profile, truth = self.profile(), int(result.stdout)
            self.files()[0].unlink()
            self.assertAlmostEqual(peak_of(profile, "pile_up")[0] / truth, 1, delta=within)
            self.assertEqual(peak_of(profile, "second_pile")[0], 0)
            self.assertLess(total(profile, "inuse_space"), truth / 2)
            self.assertTrue(0.99 * truth <= counted_peak(profile).in_use <= 1.05 * truth)
            self.assertAlmostEqual(total(profile, "peak_objects") / (truth / 512), 1, delta=0.05)
            self.assertEqual([len(told(profile, PEAK)), len(told(profile))], [len(profile.sample)] * 2)

    def test_what_is_freed_at_once_is_temporary(self) -> None:
        for mean, within in (("1", 0.002), ("4096", 0.12)):
            profile = self.profile_of(PROGRAM, "temporary", HAKMEM_PROFILE_BYTES=mean)
            self.files()[0].unlink()
            names, column = Names(profile), columns(profile)["temporary_objects"]
            found = {names.frames[s.location_id[0]][0].function.split("::")[-1]: s.value[column] for s in profile.sample}
            self.assertAlmostEqual(found["freed_at_once(int)"] / 100000, 1, delta=within)
            self.assertLessEqual(found["freed_later(int)"], 50)  # the last one
            self.assertEqual(found["leak_nodes(int)"], 0)
            self.assertGreater(profile.duration_nanos, 0)

    def test_the_range_of_a_peak_has_the_truth(self) -> None:
        """In 95 of 100. Of 40 such runs one in 4,000 tests has fewer than 32. A level that is held for long, and whose
        blocks come and go, is the harder one: a peak of the samples' own sums would be 8 % too high. Scaled to what the
        counters know it is nearer to the truth, and its range is so small that a peak which is seen up to a 128th too
        early lies outside of it: it has what was live when the counters were read."""
        for how, mib in (("peaks", "10"), ("level", "6")):
            inside, off, beside = [0, 0], [0.0, 0.0], self.beside_the_pile(how, mib)
            for _ in range(40):
                result = run(PROGRAM, how, mib, **self.settings(HAKMEM_PROFILE_BYTES="16384"))
                profile = self.profile()
                self.files()[0].unlink()
                for n, truth in enumerate((int(result.stdout), counted_peak(profile).in_use - beside)):
                    size, low, high = peak_of(scaled(profile) if n else profile, "pile_up", "level")
                    inside[n] += low <= truth <= high
                    off[n] += (size / truth - 1) ** 2
                self.assertIsNotNone(scale_of(profile, PEAK), hindrance(profile, PEAK))
            self.assertGreaterEqual(min(inside), 32, how)
            self.assertLess(off[1], off[0] / 4, how)

    def beside_the_pile(self, how: str, mib: str) -> int:
        """[bytes] What else is live at the peak, exactly."""
        self.expect_quiet_success(run(PROGRAM, how, mib, **self.settings(HAKMEM_PROFILE_BYTES="1")))
        profile = self.profile()
        self.files()[0].unlink()
        self.assertEqual(total(profile, PEAK.space), counted_peak(profile).in_use)
        return total(profile, PEAK.space) - peak_of(profile, "pile_up", "level")[0]

    def test_figures_have_the_sum_that_is_counted(self) -> None:
        profile = self.profile_of(PROGRAM, "leak", HAKMEM_PROFILE_BYTES="65536")
        before = live_stacks(profile)[0][0]
        scaled(profile)
        self.assertAlmostEqual(total(profile, "inuse_space"), counted_in_use(profile), delta=len(profile.sample))
        truth, after = 200000 * NODE_BYTES, live_stacks(profile)[0][0]
        self.assertLess(abs(after / truth - 1), max(0.02, abs(before / truth - 1)))
        self.assertEqual(scale_of(profile, NOW).counted, counted_in_use(profile))

    def test_mappings_have_build_ids(self) -> None:
        profile = self.profile_of(PROGRAM, "leak")
        ids = {Path(text_of(profile, m.filename)).name: text_of(profile, m.build_id) for m in profile.mapping}
        told = subprocess.run(["readelf", "-n", PROGRAM], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"Build ID: {ids[Path(PROGRAM).name]}", told)
        self.assertRegex(ids["libc.so.6"], "^[0-9a-f]{40}$")
        self.assertIn(LIBRARY.resolve().name, ids)

    def test_deep_stacks(self) -> None:
        stack = live_stacks(self.profile_of(PROGRAM, "deep"))[0][1]
        self.assertGreaterEqual(sum("deep" in frame.function for frame in stack), 95)
        self.assertIn("main", [frame.function for frame in stack])

    def test_a_frame_pointer_that_is_none_harms_nothing(self) -> None:
        settings = self.settings(HAKMEM_PROFILE_BYTES="1")
        self.expect_quiet_success(run(PROGRAM, "odd", **settings))

    def test_threads_that_free_for_each_other(self) -> None:
        profile = self.profile_of(PROGRAM, "threads", HAKMEM_PROFILE_BYTES="1")
        held = [size for size, frames in live_stacks(profile) if size and "threads()" in frames[0].function]
        self.assertEqual(held, [])
        self.assertGreater(total(profile, "alloc_space"), 8 * 20000 * 600)

    def test_python(self) -> None:
        code = "import json\nkept = [str(i) * 50 for i in range(30000)]\nprint(len(json.dumps(kept)))\nimport os\n"
        result = run("/usr/bin/python3", "-c", code + "os._exit\n", **self.settings(PYTHONMALLOC="malloc"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertGreater(total(self.profile(), "alloc_space"), 30000 * 200)
        named = str(live_stacks(self.profile())[:40])
        self.assertTrue("Py" in named or "python" in named, named)


class Ends(ProfileCase):
    def test_a_child_has_a_file_of_its_own(self) -> None:
        result = run(PROGRAM, "fork", **self.settings())
        self.expect_quiet_success(result)
        child = self.folder / f"heap.{result.stdout.strip()}"
        parent = next(file for file in self.files() if file != child)
        self.assertEqual(len(self.files()), 2)
        self.assertAlmostEqual(live_stacks(read(parent))[0][0] / (50000 * NODE_BYTES), 1, delta=0.1)
        both = sum(size for size, frames in live_stacks(read(child)) if "leak_nodes" in str(frames[0]))
        self.assertAlmostEqual(both / (150000 * NODE_BYTES), 1, delta=0.1)

    def test_sigterm_writes_and_ends_it(self) -> None:
        process = self.start(PROGRAM, "waits")
        process.terminate()
        self.assertEqual(process.wait(), -signal.SIGTERM)
        self.assertAlmostEqual(live_stacks(self.profile())[0][0] / (50000 * NODE_BYTES), 1, delta=0.1)

    def test_sigusr2_writes_and_it_goes_on(self) -> None:
        process = self.start(PROGRAM, "waits")
        for _ in range(3):
            process.send_signal(signal.SIGUSR2)
            while not self.files():
                self.assertIsNone(process.poll())
            while any(file.suffix == ".new" for file in self.files()):
                pass
            self.assertGreater(total(self.profile(), "inuse_space"), 0)
            self.files()[0].unlink()
        self.assertIsNone(process.poll())

    def test_signals_in_the_middle_of_everything(self) -> None:
        for _ in range(5):
            process = self.start(PROGRAM, "hurries", HAKMEM_PROFILE_BYTES="64")
            for _ in range(50):
                process.send_signal(signal.SIGUSR2)
            process.terminate()
            self.assertEqual(process.wait(), -signal.SIGTERM)
            self.assertGreater(total(self.profile(), "alloc_space"), 0)
            self.files()[0].unlink()

    def test_the_programs_own_handlers_stay(self) -> None:
        process = self.start(PROGRAM, "handles")
        process.send_signal(signal.SIGUSR2)
        process.terminate()
        self.assertEqual(process.wait(), 7)
        self.assertEqual(self.files(), [])

    def test_signals_may_be_left_alone(self) -> None:
        process = self.start(PROGRAM, "waits", HAKMEM_PROFILE_SIGNALS="off")
        process.send_signal(signal.SIGUSR2)
        self.assertEqual(process.wait(), -signal.SIGUSR2)
        self.assertEqual(self.files(), [])

    def test_on_and_off_at_run_time(self) -> None:
        out = self.folder / "out"
        self.expect_quiet_success(run(PROGRAM, "switches", str(out), preload=False))
        profile = read(out)
        self.assertAlmostEqual(live_stacks(profile)[0][0] / (100000 * NODE_BYTES), 1, delta=0.1)
        self.assertIn("blocks may be older than the sampling", hindrance(profile, NOW))

    def test_a_disk_that_is_full_is_one_line_at_the_start_and_none_later(self) -> None:
        for most, said in ((0, r"hakmem: profile_file: \S+heap\.\d+ cannot be written \(error 27\)\n"), (500, "")):
            result = run(PROGRAM, "leak", before=limit(resource.RLIMIT_FSIZE, most), **self.settings())
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stderr, rf"\A{said}\Z")
            self.assertEqual(self.files(), [])

    def test_a_folder_that_is_not_there_is_one_line(self) -> None:
        settings = self.settings() | {"HAKMEM_PROFILE_FILE": str(self.folder / "none" / "x")}
        result = run(PROGRAM, "leak", **settings)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"\Ahakmem: profile_file: \S+ cannot be written \(error 2\)\n\Z")


class Formats(ProfileCase):
    @unittest.skipUnless(shutil.which("go"), "no Go here")
    def test_go_opens_it(self) -> None:
        self.profile_of(PROGRAM, "leak")
        named = self.folder / "named.pb.gz"
        from hakmem.reading.pprof import write
        from hakmem.reading.symbols import with_names

        plain = read(self.files()[0])
        write(named, with_names(plain, Names(plain)))
        self.assertTrue(gzip.decompress(named.read_bytes()))
        for file in (named, self.files()[0]):
            told = subprocess.run(
                ["go", "tool", "pprof", "-top", str(file)], capture_output=True, text=True, timeout=100, check=False
            )
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertIn("Type: inuse_space", told.stdout)
            peak = subprocess.run(
                ["go", "tool", "pprof", "-sample_index=peak_space", "-top", str(file)], capture_output=True, text=True,
                timeout=100, check=False,
            )
            self.assertEqual(peak.returncode, 0, peak.stderr)
            self.assertRegex(peak.stdout, r"Type: peak_space(.|\n)*accounting for \S+MB, .* of \S+MB total")
            self.assertIn("hakmem: pid", told.stdout)
            if file == named:
                self.assertRegex(told.stdout, r"(?m)^ *\S+MB +\S+% +\S+% +\S+MB +\S+% +.*leak_nodes")


if __name__ == "__main__":
    unittest.main()
