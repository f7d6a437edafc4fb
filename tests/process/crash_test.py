# SPDX-License-Identifier: MIT OR Apache-2.0
"""The setting crash_report: what is said of a crash, and that the process ends as without it."""

import os
import re
import resource
import signal
import subprocess
import unittest

from process_case import PAGE, ProcessCase, Result, environment, limit, program, run

FIRST = r"hakmem: {name}: {what}, at the instruction 0x[0-9a-f]+, thread \d+\n"
PLACE = r"(hakmem: 0x[0-9a-f]+ is /[^\n]*\+0x[0-9a-f]+\n)+"
SECOND = r"hakmem: {address} lies {where}\n"
RUN_BYTES = -(-100000 // PAGE) * PAGE  # of crash.c's run of 100,000 B
SLAB_BYTES = 65536  # which one page of that length is: it has no holes
BLOCK = r"in a {state} block of {bytes} B \(0x[0-9a-f]+, offset 10\){where}"


def crash(how: str, **settings: str) -> Result:
    return run(program("crash"), how, before=limit(resource.RLIMIT_CORE, 0), **settings)


class CrashCase(ProcessCase):
    def report(self, how: str, ends_by: signal.Signals = signal.SIGSEGV, **settings: str) -> Result:
        """Ends as it does without the setting."""
        result, without = crash(how, HAKMEM_CRASH_REPORT="on", **settings), crash(how, **settings)
        self.assertEqual((result.returncode, without.returncode), (-ends_by, -ends_by))
        self.assertEqual(without.stderr, "")
        return result

    def expect(self, how: str, does: str, where: str, ends_by: signal.Signals = signal.SIGSEGV, **settings: str) -> None:
        result = self.report(how, ends_by, **settings)
        address = result.stdout.strip()
        lines = FIRST.format(name=ends_by.name, what=f"{does} {address}") + SECOND.format(address=address, where=where)
        self.assertRegex(result.stderr, f"^{lines}{PLACE}$")


class Faults(CrashCase):
    def test_outside(self) -> None:
        self.expect("null", "read of", "near NULL")
        self.expect("wild", "write to", "outside HAKMEM's memory, or in memory that was unmapped")
        self.expect("unmapped", "read of", "outside HAKMEM's memory, or in memory that was unmapped")
        self.expect("bus", "read of", "outside HAKMEM's memory, or in memory that was unmapped", signal.SIGBUS)

    def test_an_address_that_the_kernel_does_not_tell(self) -> None:
        """On AArch64 the top byte of an address is no part of it."""
        result = self.report("not_canonical")
        lines = FIRST.format(name="SIGSEGV", what="an address that the kernel does not report")
        if os.uname().machine == "aarch64":
            lines = FIRST.format(name="SIGSEGV", what="read of 0x1234") + SECOND.format(address="0x1234", where="near NULL")
        self.assertRegex(result.stderr, f"^{lines}{PLACE}$")

    def test_in_blocks(self) -> None:
        self.expect("live", "write to", BLOCK.format(state="live", bytes="class 4096", where=""))
        freed = BLOCK.format(state="free", bytes="class 4096", where=", in a thread's magazine")
        self.expect("freed", "read of", freed)
        asked = r", asked for at 0x[0-9a-f]+"
        self.expect("live_big", "write to", BLOCK.format(state="live", bytes=3 << 20, where=asked))

    def test_in_a_run(self) -> None:
        self.expect("live_run", "read of", BLOCK.format(state="live", bytes=RUN_BYTES, where="(, asked for at 0x[0-9a-f]+)?"))

    def test_in_a_sampled_block(self) -> None:
        where = BLOCK.format(state="live", bytes=RUN_BYTES, where=r", asked for at 0x[0-9a-f]+")
        self.expect("live_run", "read of", where, HAKMEM_PROFILE="on", HAKMEM_PROFILE_BYTES="1")

    def test_what_is_free(self) -> None:
        hole = r"in a free block of class 1024 B \(0x[0-9a-f]+, offset \d+\), whose page was released"
        if PAGE < SLAB_BYTES:
            self.expect("hole", "read of", hole)
        self.expect("free_run", "read of", "in free memory whose pages were released")
        kept = rf"in a freed block of {3 << 20} B \(0x[0-9a-f]+, offset 10\), kept for reuse, asked for at 0x[0-9a-f]+"
        self.expect("kept", "read of", kept, HAKMEM_PRICE="speed")

    def test_where_the_instruction_is(self) -> None:
        """As a tool for symbols wants it."""
        found = re.search(rf"is {re.escape(program('crash'))}\+(0x[0-9a-f]+)\n", self.report("null").stderr)
        assert found is not None
        named = subprocess.run(
            ["addr2line", "-f", "-e", program("crash"), found[1]], capture_output=True, text=True, check=True
        )
        self.assertEqual(named.stdout.splitlines()[0], "look")

    def test_no_file_is_opened_in_a_sandbox(self) -> None:
        self.assertNotRegex(self.report("sandboxed").stderr, " is /")

    def test_in_a_thread_and_in_a_child(self) -> None:
        self.expect("thread", "read of", "near NULL")
        together = self.report("together")
        self.assertEqual(len(re.findall("^hakmem: SIGSEGV: ", together.stderr, re.MULTILINE)), 1)
        self.assertRegex(together.stderr, r"\nhakmem: 0x8 lies near NULL\n")
        result = self.report("child")
        self.assertRegex(result.stderr, r"^hakmem: SIGSEGV: read of 0x8, .*\nhakmem: 0x8 lies near NULL\n" + PLACE + "$")

    def test_in_a_child_of_vfork_and_then_in_the_parent(self) -> None:
        self.assertRegex(self.report("both").stderr, r"^hakmem: SIGABRT: .*\n" + PLACE + r"hakmem: SIGSEGV: read of 0x8, ")

    def test_a_stack_that_is_used_up(self) -> None:
        """There is room for a report only where the program made some."""
        self.assertEqual(self.report("overflow").stderr, "")
        self.assertRegex(self.report("overflow_aside").stderr, r"lies outside HAKMEM's memory")

    def test_while_threads_have_locks(self) -> None:
        result = self.report("inside_malloc")
        self.assertEqual(len(re.findall("^hakmem: SIGSEGV: ", result.stderr, re.MULTILINE)), 13)
        self.assertEqual(len(re.findall(BLOCK.format(state="live", bytes="class 4096", where=""), result.stderr)), 6)


class Unheard(CrashCase):
    """stderr takes nothing."""

    def end(self, how: str, stderr: int) -> int:
        settings = environment(True, HAKMEM_CRASH_REPORT="on")
        return subprocess.run(
            [program("crash"), how], env=settings, stdout=subprocess.DEVNULL, stderr=stderr, timeout=250, check=False,
            preexec_fn=limit(resource.RLIMIT_CORE, 0),
        ).returncode

    def test_a_pipe_that_nobody_reads(self) -> None:
        """SIGPIPE is not what ends it."""
        for how, ends_by in (("null", signal.SIGSEGV), ("abort", signal.SIGABRT)):
            reader, writer = os.pipe()
            os.close(reader)
            self.assertEqual(self.end(how, writer), -ends_by)
            os.close(writer)

    def test_a_pipe_that_is_full(self) -> None:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writer, bytes(4096))
        os.set_blocking(writer, True)
        self.assertEqual(self.end("null", writer), -signal.SIGSEGV)
        os.close(reader)
        os.close(writer)


class Sent(CrashCase):
    def test_signals_that_are_sent(self) -> None:
        sent = "by abort, raise or kill"
        for how, ends_by in (("abort", signal.SIGABRT), ("kill", signal.SIGABRT), ("raise", signal.SIGSEGV)):
            result = self.report(how, ends_by)
            self.assertRegex(result.stderr, f"^{FIRST.format(name=ends_by.name, what=sent)}{PLACE}$")

    def test_what_hakmem_ends_has_one_line(self) -> None:
        for settings in ({}, {"HAKMEM_CRASH_REPORT": "on"}):
            result = crash("double_free", **settings)
            self.assertEqual(result.returncode, -signal.SIGABRT)
            self.assertRegex(result.stderr, r"^hakmem: [^\n]*pointer 0x[^\n]*\n$")

    def test_a_handler_of_the_programs_own(self) -> None:
        result = crash("handled", HAKMEM_CRASH_REPORT="on")
        self.assertEqual((result.returncode, result.stderr), (7, ""))

    def test_a_signal_that_is_ignored_stays_so(self) -> None:
        code = "import os, signal as s; os.kill(os.getpid(), s.SIGABRT); print(s.getsignal(s.SIGABRT) is s.SIG_IGN)"
        result = run(
            "/usr/bin/python3", "-c", code, HAKMEM_CRASH_REPORT="on",
            before=lambda: signal.signal(signal.SIGABRT, signal.SIG_IGN) and None,
        )
        self.expect_quiet_success(result, "True\n")


if __name__ == "__main__":
    unittest.main()
