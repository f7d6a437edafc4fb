# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem address`: what addresses of running programs are, where that is known; one line where they cannot be read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import unittest
from typing import Any

from support import BUILD, COMMAND, ROOT, Scratch, clean_environment, hakmem, program

from hakmem.base.errors import Refusal
from hakmem.reading.tables import NAMES, OWNER, VERSION, Changed, Memory, Tables
from hakmem.watching.address import IN_DEPOT, IN_MAGAZINE, IN_SLAB, LIVE, address_of, found_at, rows_of

PYTHON = "/usr/bin/python3"
LIBRARY = BUILD / "libhakmem.so"
NOBODY = 65534
ADDRESSES = 13  # that tools_explained prints


class Explained(Scratch):
    def started(self, *command: str, library: str = str(LIBRARY), **settings: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command, env=clean_environment(LD_PRELOAD=library, **settings), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )
        self.addCleanup(self.end, process)
        return process

    def end(self, process: subprocess.Popen[str]) -> None:
        process.kill()
        process.communicate()

    def addresses(self, process: subprocess.Popen[str], count: int) -> dict[str, str]:
        assert process.stdout is not None
        lines = [process.stdout.readline().split() for _ in range(count)]
        return {name: address for name, address in lines}

    def told(self, address: str, process: subprocess.Popen[str]) -> str:
        ended = hakmem("address", address, "--pid", str(process.pid))
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return ended.stdout

    def facts(self, address: str, process: subprocess.Popen[str]) -> dict[str, Any]:
        """Without the command, which takes half a second to start."""
        return found_at(process.pid, address_of(address))[0]

    def refused(self, *arguments: str, user: int | None = None) -> str:
        ended = subprocess.run(
            [COMMAND, "address", *arguments], env=clean_environment(), user=user, capture_output=True, text=True, check=False
        )
        self.assert_one_line(ended.stderr)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        return ended.stderr


class KnownAddresses(Explained):
    def setUp(self) -> None:
        super().setUp()
        self.process = self.started(program("explained"), HAKMEM_PRICE="speed")
        self.at = self.addresses(self.process, ADDRESSES)

    def of(self, name: str) -> dict[str, Any]:
        return self.facts(self.at[name], self.process)

    def test_small_blocks(self) -> None:
        begin, inside = self.of("small"), self.of("inside")
        self.assertEqual((begin["state"], begin["class_bytes"], begin["offset"]), (LIVE, 64, 0))
        self.assertEqual((inside["block"], inside["offset"]), (begin["address"], 9))
        self.assertEqual(begin["slots"], 1024)
        magazine = self.of("magazine")
        self.assertEqual((magazine["state"], magazine["class_bytes"]), (IN_MAGAZINE, 64))
        self.assertIn("inside a block, at offset 9: live", self.told(self.at["inside"], self.process))

    def test_a_page_of_a_slab_that_was_given_back(self) -> None:
        facts = self.of("hole")
        self.assertEqual((facts["state"], facts["class_bytes"]), (IN_SLAB, 1024))
        self.assertEqual((facts["slots"], facts["free_slots"]), (64, 63))
        self.assertIn("given back", facts["page"])

    def test_runs_and_big_blocks_with_their_sites(self) -> None:
        run, big = self.of("run"), self.of("big")
        self.assertEqual((run["state"], run["run_bytes"], run["offset"]), (LIVE, 655360, 70000))
        self.assertEqual((big["state"], big["big_bytes"], big["offset"]), (LIVE, 3 << 20, 5000))
        for name in ("run", "big"):
            self.assertRegex(self.told(self.at[name], self.process), r"site +ask_for_big\+0x\w+ \(tools_explained\)")

    def test_blocks_of_pages(self) -> None:
        pages, wall = self.of("pages"), self.of("wall")
        self.assertEqual((pages["state"], pages["page_bytes"], pages["offset"]), (LIVE, 102400, 70000))
        self.assertEqual((wall["state"], wall["page_bytes"], wall["offset"]), (LIVE, 102400, 0))
        self.assertEqual(self.of("free_pages")["state"], "free pages between blocks")
        text = self.told(self.at["pages"], self.process)
        self.assertRegex(text, r"block +0x\w+, 102,400 B, whole pages")
        self.assertRegex(text, r"site +ask_for_big\+0x\w+ \(tools_explained\)")

    def test_what_is_free(self) -> None:
        self.assertIn("free run without pages", self.of("free_run")["state"])
        kept = self.of("kept")
        self.assertIn("kept for reuse", kept["state"])
        self.assertIn("ask_for_big", self.told(self.at["kept"], self.process))

    def test_what_is_not_hakmems(self) -> None:
        self.assertIn("[stack]", self.of("stack")["mapping"])
        self.assertIn("tools_explained", self.of("code")["mapping"])
        for address in ("0x10", "0xffffffffffffffff", hex(1 << 47)):
            self.assertIn("not mapped", self.facts(address, self.process)["state"])

    def test_an_address_is_written_as_debuggers_do(self) -> None:
        number = int(self.at["small"], 16)
        self.assertEqual(self.facts(str(number), self.process), self.of("small"))
        self.assertEqual(address_of("7f00abcd"), 0x7F00ABCD)


class OtherPrograms(Explained):
    def test_a_sampled_block_has_its_stack(self) -> None:
        process = self.started(program("explained"), HAKMEM_PROFILE="on", HAKMEM_PROFILE_BYTES="1")
        at = self.addresses(process, ADDRESSES)
        facts = self.facts(at["small"], process)
        self.assertEqual((facts["state"], facts["class_bytes"], facts["asked_bytes"]), (LIVE, 64, 64))
        self.assertRegex(self.told(at["small"], process), r"sampled, by\n +main\+0x")

    def test_python(self) -> None:
        code = "x = bytes(3 << 20); print('big', hex(id(x) + 100), flush=True); input()"
        process = self.started(PYTHON, "-c", code)
        facts = self.facts(self.addresses(process, 1)["big"], process)
        self.assertEqual(facts["state"], LIVE)
        self.assertGreaterEqual(facts["big_bytes"], 3 << 20)
        ended = hakmem("address", hex(facts["address"]), "--pid", str(process.pid), "--json")
        self.assertEqual((ended.returncode, ended.stderr, json.loads(ended.stdout)), (0, "", facts))

    def test_in_the_depot(self) -> None:
        """Of many blocks that are freed at once some lie there; which, the tables say."""
        code = (
            "import ctypes; c = ctypes.CDLL(None); c.malloc.restype = ctypes.c_void_p; c.free.argtypes = [ctypes.c_void_p]\n"
            "x = [c.malloc(200) for _ in range(20000)]\n"
            "import threading as t, time\nfreed = t.Event()\n"
            "def work():\n  for p in x: c.free(p)\n  freed.set(); time.sleep(60)\n"
            "t.Thread(target=work, daemon=True).start(); freed.wait()\n"
            "print('least', min(x)); print('most', max(x), flush=True); input()"
        )
        process = self.started(PYTHON, "-c", code, HAKMEM_BACKGROUND_THREAD="off")  # which would empty it
        at = self.addresses(process, 2)
        memory = Memory(process.pid)
        self.addCleanup(memory.close)
        tables = Tables(memory)
        size_class = tables.class_in_map((int(at["least"]) - tables.base()) // tables.unit_bytes())
        packed = [block for pack in tables.packs(size_class) for block in pack]
        self.assertNotEqual(packed, [])
        self.assertTrue(all(int(at["least"]) <= block <= int(at["most"]) for block in packed))
        for block in packed[:3]:
            self.assertLessEqual(int(at["least"]), block)
            self.assertLessEqual(block, int(at["most"]))
            facts = self.facts(hex(block), process)
            self.assertEqual((facts["state"], facts["offset"], facts["class_bytes"]), (IN_DEPOT, 0, 208))

    def test_while_threads_allocate(self) -> None:
        code = (
            "import threading, time\nx = bytearray(b'1' * 20000)\n"
            "def work():\n  while True: [bytes(n) for n in range(500, 9000, 7)]\n"
            "for _ in range(2): threading.Thread(target=work, daemon=True).start()\n"
            "import ctypes; print('block', hex(ctypes.addressof(ctypes.c_char.from_buffer(x))), flush=True); input()"
        )
        process = self.started(PYTHON, "-c", code)
        facts = self.facts(self.addresses(process, 1)["block"], process)
        self.assertEqual((facts["state"], facts["offset"]), (LIVE, 0))


class Refused(Explained):
    def test_what_is_no_address(self) -> None:
        for text in ("", "here", "0x", "-1", "0x1g", "1" * 40):
            with self.assertRaises(Refusal):
                address_of(text)
        self.assertIn("no address", self.refused("here", "--pid", str(os.getpid())))

    def test_a_process_that_is_not_there(self) -> None:
        process = subprocess.Popen(["true"])
        process.wait()
        self.assertIn("no process", self.refused("0x10", "--pid", str(process.pid)))

    def test_a_process_without_hakmem(self) -> None:
        process = self.started("sleep", "60", library="")
        self.assertIn("does not run on HAKMEM", self.refused("0x10", "--pid", str(process.pid)))

    def test_another_version(self) -> None:
        data = LIBRARY.read_bytes()
        at = data.index(OWNER + b"\0" + VERSION.to_bytes(4, "little")) if OWNER + b"\0" in data else -1
        self.assertGreater(at, 0)
        other = self.folder / "libother.so"
        other.write_bytes(data[:at + 8] + b"\x63" + data[at + 9:])
        process = self.started(program("explained"), library=str(other))
        self.addresses(process, ADDRESSES)
        self.assertIn("another version of HAKMEM", self.refused("0x10", "--pid", str(process.pid)))

    @unittest.skipUnless(os.geteuid() == 0, "only root becomes another user")
    def test_a_list_without_an_end(self) -> None:
        """The process may write into its tables what it likes."""
        process = self.started(program("explained"))
        address = int(self.addresses(process, ADDRESSES)["small"], 16)
        memory = Memory(process.pid)
        self.addCleanup(memory.close)
        tables = Tables(memory)
        context = tables.field(tables.at["registry"], "registry_first")
        with open(f"/proc/{process.pid}/mem", "r+b", buffering=0) as its_own:
            its_own.seek(context + tables.n["context_next"])
            its_own.write(context.to_bytes(8, "little"))
        with self.assertRaises(Changed):
            list(tables.magazines(1))
        self.assertRaises(Refusal, found_at, process.pid, address)

    def test_another_users_process(self) -> None:
        process = self.started(program("explained"))
        at = self.addresses(process, ADDRESSES)
        self.assertIn("another user's", self.refused(at["small"], "--pid", str(process.pid), user=NOBODY))


class Numbers(unittest.TestCase):
    def test_lines_fit_a_terminal(self) -> None:
        facts = {"pid": 1, "address": 1 << 46, "state": LIVE, "block": 1 << 46, "offset": 0, "class_bytes": 1 << 19}
        rows = rows_of(facts, str)
        self.assertIn(("site", "not known"), rows)
        self.assertLessEqual(max(10 + len(value) for _, value in rows), 80)

    def test_their_names_are_those_of_the_library(self) -> None:
        rows = (ROOT / "src" / "observe" / "layout.def").read_text("utf-8")
        self.assertEqual(NAMES, tuple(re.findall(r"^NUMBER\((\w+),", rows, re.MULTILINE)))


if __name__ == "__main__":
    unittest.main()
