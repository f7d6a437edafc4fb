# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem top` on a terminal of tmux, whose screen is looked at: what it shows, keys, the mouse, and the terminal after it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

from support import COMMAND, clean_environment
from test_stats import PYTHON, READY, Shown, line_of

from hakmem.base.console import stdout_console
from hakmem.watching.layout import HEAD, Section, screen
from hakmem.watching.controls import Controls, column_at, key_of, name_at
from hakmem.watching.terminal import Ended, Event, Input
from rich.text import Text

PATIENCE_SECONDS = 30
ESCAPE = "1b"


@unittest.skipIf(shutil.which("tmux") is None, "no tmux")
class Top(Shown):
    """On a terminal of tmux, whose screen is looked at."""

    socket = "tmux"

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-u", "-S", str(self.folder / self.socket), *words]
        utf = clean_environment(LC_ALL="C.UTF-8")
        return subprocess.run(command, env=utf, capture_output=True, text=True, check=False).stdout

    def begin(self, pid: int, columns: int, lines: int = 40) -> None:
        shell = f"{COMMAND} top {pid} --interval 0.2; echo status $?; exec sleep 60"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), shell)
        self.addCleanup(self.tmux, "kill-server")

    def screen(self, *wanted: str) -> str:
        """Once all of that is to be seen."""
        seen = ""
        for _ in range(PATIENCE_SECONDS * 20):
            seen = self.tmux("capture-pane", "-p")
            if all(re.search(text, seen) for text in wanted):
                return seen
            time.sleep(0.05)
        self.fail(f"{wanted} not on the screen:\n{seen}")

    def test_what_is_on_the_screen(self) -> None:
        work = "import time\nkept = []\nprint('ready', flush=True)\nwhile True:\n    kept += [bytes(2000)]; "
        process = self.started(f"{work}time.sleep(0.0001)", count_calls="on", mode="evolving")
        line_of(process)
        self.begin(process.pid, 100)
        rate = r"[1-9][\d,]*"
        curve = r"resident \(kernel\).*[▁-█]{3}"
        seen = self.screen(rf"allocations +{rate}", r"memory +MiB",
                           r"live +[\d.]+ +█", r"less never touched +[\d.]+ ", "learner, evolving", curve)
        self.assertIn(f"hakmem top {process.pid}  {PYTHON} -c", seen)
        self.assertLessEqual(max(len(line) for line in seen.splitlines()), 100)
        self.tmux("send-keys", "q")
        self.assertNotIn("never touched", self.screen("status 0"))

    def test_a_terminal_that_cannot_be_drawn_on(self) -> None:
        for name in ("dumb", "unknown"):
            self.socket = f"tmux-{name}"  # a server of its own: one that is ending may take the next session with it
            self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "150", f"TERM={name} {COMMAND} top 1; echo status $?; exec sleep 60")
            self.addCleanup(self.tmux, "kill-server")
            self.assertIn(f"TERM={name} is no terminal that top can draw on; hakmem top --once", self.screen("status 2"))
            self.assertEqual(self.mouse(), "00 0")
            self.tmux("kill-server")

    def test_sites_of_the_last_profile(self) -> None:
        """It is read when it is there, and split live bytes; nothing is asked of the process."""
        kept = "kept = [bytes(3000) for _ in range(9999)]"
        process = self.started(f"{kept}; {READY}", profile_file=str(self.folder / "h"))
        line_of(process)
        self.begin(process.pid, 150)
        self.assertNotIn("internal waste", self.screen(f"no profile yet; hakmem profile {process.pid}"))
        os.kill(process.pid, signal.SIGUSR2)
        seen = self.screen(r"[KM]iB +blocks +top sites, estimates from \d+ samples, of a profile \d+ s old",
                           r"≈ [\d.,]+ +≈ [\d,]+ +\S+", r"internal waste +(0\.[1-9]|[1-9])")
        self.assertNotIn("learner", seen)  # in the mode baseline
        (self.folder / f"h.{process.pid}").write_bytes(b"nothing")
        self.screen("no heap profile|no profile in pprof's format")

    def test_narrow_and_not_counted_and_the_end(self) -> None:
        process = self.started(READY)
        line_of(process)
        self.begin(process.pid, 60)
        seen = self.screen("never touched", "not counted")
        self.assertLessEqual(max(len(line) for line in seen.splitlines()), 60)
        process.communicate("\n")
        self.screen(f"process {process.pid} has ended\nstatus 0")

    def test_a_small_terminal_says_what_it_leaves_out(self) -> None:
        process = self.started(f"kept = [bytes(3000) for _ in range(9999)]; {READY}")
        line_of(process)
        for columns, lines, shown, left_out in (
            (80, 24, ("live", "HAKMEM", "outside", "page faults", "big blocks' pages moved"), "details; q quits, \\? keys"),
            (40, 12, ("resident", "live", "HAKMEM", "outside"), "part of memory, rates, details"),
        ):
            self.socket = f"tmux-{columns}"
            self.begin(process.pid, columns, lines)
            seen = self.screen(f"(?m)^left out: {left_out}$")
            self.assertEqual([label for label in shown if not re.search(f"(?m)^{label}", seen)], [], seen)
            for word in ("learn", "arms", "settled", "keep time", "price"):
                self.assertNotIn(word, seen)

    def test_ctrl_c(self) -> None:
        process = self.started(READY)
        line_of(process)
        self.begin(process.pid, 80)
        self.screen("never touched")
        self.tmux("send-keys", "C-c")
        self.screen("status 0")

    # ---- keys and the mouse ----

    def send(self, *sequences: str) -> None:
        """As the terminal would send them: bytes that tmux does not read."""
        for text in sequences:
            self.tmux("send-keys", "-H", *(f"{ord(letter):02x}" for letter in text))

    def click(self, word: str, of: str = "") -> None:
        """The left button on this word, of the line that has `of`."""
        lines = self.screen(f"(?m){of or word}").splitlines()
        line = next(n for n, text in enumerate(lines) if re.search(of or word, text) and word in text)
        column = lines[line].index(word)
        self.send(*(f"\x1b[<0;{column + 2};{line + 1}{end}" for end in "Mm"))

    def mouse(self) -> str:
        """Whether the program in the terminal has asked for it, and in which way."""
        return self.tmux("display-message", "-p", "#{mouse_standard_flag}#{mouse_sgr_flag} #{alternate_on}").strip()

    def wait_for_mouse(self, wanted: str) -> None:
        for _ in range(PATIENCE_SECONDS * 20):
            if self.mouse() == wanted:
                return
            time.sleep(0.05)
        self.assertEqual(self.mouse(), wanted)

    def test_clicks_and_the_wheel(self) -> None:
        """80x24: a name in the last line, a section's name, a column, a row; then keys."""
        process = self.started(f"kept = [bytes(3000) for _ in range(9999)]; {READY}", count_calls="on", profile_file=str(self.folder / "h"))
        line_of(process)
        os.kill(process.pid, signal.SIGUSR2)
        self.begin(process.pid, 80, 24)
        self.screen("top sites, estimates", "left out: ")
        self.wait_for_mouse("11 1")
        self.click("details", of="^left out: |; q quits")
        self.assertNotIn("page faults", self.screen("address space: "))
        self.send("0")
        self.screen("page faults", "top sites")
        self.click("rates", of="^rates +a second")
        self.assertNotIn("top sites", self.screen("big blocks' pages moved"))
        self.click("in all", of="^rates +a second")
        seen = self.screen("in all ▼")
        totals = [int(found.replace(",", "")) for found in re.findall(r"(?m)  ([\d,]+)$", seen)]
        self.assertEqual(totals, sorted(totals, reverse=True), seen)
        self.click("in all", of="^rates +a second")
        self.screen("in all ▲")
        self.click("page faults")
        self.screen(r"(?m)^page faults \(kernel\)  \S+  [\d,]+$")
        self.send("\x1b")
        self.screen(r"(?m)^q quits, \? keys$")
        self.send("\x1b")
        self.screen("left out: ")
        self.send("\x1b[<65;5;5M")
        self.screen("rows above: 3; ")
        self.send("\x1b[<64;5;5M", "?")
        self.assertNotIn("page faults", self.screen("click: column +rows in its order"))
        self.send("q")
        self.screen("status 0")
        self.assertEqual(self.mouse(), "00 0")

    def test_the_terminal_is_as_before_however_it_ends(self) -> None:
        process = self.started(READY)
        line_of(process)
        for number in (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
            self.socket = f"tmux-{number.name}"
            self.begin(process.pid, 80)
            self.screen("never touched")
            self.wait_for_mouse("11 1")
            os.kill(self.watcher(), number)
            self.screen("status 0")
            self.wait_for_mouse("00 0")

    def watcher(self) -> int:
        """The number of `hakmem top`, a child of the shell in the terminal."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        children = subprocess.run(["pgrep", "-P", shell], capture_output=True, text=True, check=False).stdout.split()
        return int(children[0])

    def test_a_stop_gives_the_terminal_back(self) -> None:
        """Ctrl-Z, and fg."""
        process = self.started(READY)
        line_of(process)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "bash --norc -i")
        self.addCleanup(self.tmux, "kill-server")
        self.screen(r"[$#]")
        self.tmux("send-keys", f"{COMMAND} top {process.pid} --interval 0.2", "Enter")
        self.screen("never touched")
        self.wait_for_mouse("11 1")
        self.tmux("send-keys", "C-z")
        self.screen("Stopped")
        self.wait_for_mouse("00 0")
        self.tmux("send-keys", "fg", "Enter")
        self.screen("never touched")
        self.wait_for_mouse("11 1")
        self.tmux("send-keys", "C-c")
        self.wait_for_mouse("00 0")

    def test_an_error_gives_the_terminal_back(self) -> None:
        process = self.started(READY)
        line_of(process)
        code = "import hakmem.watching.top as top; look = top.look; seen = []\n"
        code += "def broken(view): seen.append(1); assert len(seen) < 9; look(view)\n"
        code += f"top.look = broken; top.show_top({process.pid}, 0.2)"
        file = self.folder / "broken.py"
        file.write_text(code)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24",
                  f"{COMMAND.with_name('python')} {file}; echo status $?; exec sleep 60")
        self.addCleanup(self.tmux, "kill-server")
        self.wait_for_mouse("11 1")
        self.screen("AssertionError", "status 1")
        self.wait_for_mouse("00 0")


class Parts(unittest.TestCase):
    """Without a terminal."""

    SECTIONS = (Section("memory", [("live", "3.0"), ("holes", "10.5")], ("memory", "MiB"), "lr"),
                Section("sites", [(f"{n}.0", f"{100 - n}", f"place_{n}") for n in range(9)], ("MiB", "blocks", "top sites"), "rrl", (0, 1), 5))

    def test_sequences_in_pieces(self) -> None:
        source = Input()
        data = b"q\x1b[A\x1b[<0;12;3M\x1b[<64;1;1M\x1b[<65;1;1M\x1b[<0;12;3m\x1bOB\x1b[6~\x1b[Mqqq\t\x1b[Z\x1b[99~5\x1b"
        wanted = [("q", 0, 0), ("up", 0, 0), ("click", 11, 2), ("wheel up", 0, 0), ("wheel down", 0, 0), ("", 11, 2), ("down", 0, 0),
                  ("page down", 0, 0), ("", 0, 0), ("tab", 0, 0), ("before", 0, 0), ("", 0, 0), ("5", 0, 0)]
        self.assertEqual([tuple(event) for event in source.events(data)], [*wanted, ("escape", 0, 0)])
        pieces = [event for n in range(len(data) - 1) for event in source.events(data[n:n + 1])]
        whole = [event for event in pieces if event.name != "escape"]
        self.assertGreaterEqual(len(whole), len(wanted), "an escape that comes alone is a key, which events_until waits for")
        for strange in (b"\x1b[[A", b"\x1b[5^", b"\x1b[5$", b"\x1b[2@"):  # F1 of the kernel's console; rxvt's, with Ctrl and Shift
            self.assertEqual([event.name for event in Input().events(strange + b"q")], ["", "q"], strange)
        self.assertEqual(list(Input().events(b"\x1b[" + b"1;" * 40))[0], Event("escape"), "what never ends is no sequence")

    def test_a_terminal_that_calls_itself_wider_than_any(self) -> None:
        """Each frame would pad each line to its end."""
        with mock.patch.object(sys.stdout, "isatty", return_value=True), \
                mock.patch.dict(os.environ, COLUMNS="65535", LINES="40", TERM="xterm"):
            self.assertEqual(stdout_console().size, (1000, 40))

    def test_columns_and_names_are_where_they_are_drawn(self) -> None:
        line = "  MiB  blocks  top sites, of a profile"
        heads = ("MiB", "blocks", "top sites, of a profile")
        self.assertEqual([column_at(line, at, heads) for at in (0, 2, 5, 7, 13, 20, 60)], [HEAD, 0, 0, 1, 1, 2, HEAD])
        self.assertEqual([name_at("left out: rates, details; q quits", at, ("rates", "details")) for at in (3, 10, 14, 17, 30)],
                         ["", "rates", "rates", "details", ""])
        self.assertEqual([key_of(cell)[0] for cell in ("≈ 1,234.5", "-", "7")], [1234.5, float("-inf"), 7])

    def pressed(self, *names: str) -> Controls:
        controls = Controls()
        for name in names:
            shown = controls.shown(self.SECTIONS)
            controls.take(Event(name), self.SECTIONS, screen(Text("top"), shown, 80, 8, controls.above, controls.row), [])
        return controls

    def test_keys(self) -> None:
        self.assertEqual([section.name for section in self.pressed("tab", "tab").shown(self.SECTIONS)], ["sites"])
        self.assertEqual(len(self.pressed("2").shown(self.SECTIONS)[0].rows), 9, "alone it has all")
        self.assertEqual(len(self.pressed().shown(self.SECTIONS)[1].rows), 5)
        self.assertEqual(self.pressed("down", "down", "up").above, 1)
        self.assertEqual(self.pressed("2", "wheel down", "wheel down", "home").above, 0)
        self.assertEqual(self.pressed("2", "end", "end", "page down").above, 8, "the last row stays")
        self.assertEqual(self.pressed("up", "page up").above, 0)
        self.assertEqual(self.pressed("2", "s", "s").shown(self.SECTIONS)[0].rows[0][2], "place_0", "by blocks")
        self.assertEqual(self.pressed("2", "s", "s").shown(self.SECTIONS)[0].heads[1], "blocks ▼")
        self.assertEqual(self.pressed("2", "down", "escape").alone, "")
        for ending in ("q", "Q"):
            self.assertRaises(Ended, self.pressed, ending)
        self.assertRaises(Ended, self.pressed, "2", "escape", "escape")
        self.assertFalse(self.pressed("?", "escape").helps)
        self.assertEqual(self.pressed("9", "x", "").alone, "", "what is no key is nothing")


if __name__ == "__main__":
    unittest.main()
