# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is printed."""

from __future__ import annotations

import io
import unittest
from collections import Counter
from contextlib import redirect_stderr
from pathlib import Path

from hakmem.process.counters import Comparison
from hakmem.process.launch import Figures
from hakmem.running.summary import Report, print_report


def figures(wall_ns: int, maxrss_kib: int = 2048, minflt: int = 1000) -> Figures:
    return Figures(7, wall_ns, 1000, 1000, maxrss_kib, minflt, 0, 0, 0, 0, 0, 0, 0)


def report(**changes: object) -> Report:
    facts: dict[str, object] = {
        "program": "prog 'a b'",
        "so_file": Path("/x/libhakmem.so"),
        "hakmem": [figures(900_000_000), figures(500_000_000)],
        "glibc": [figures(1_000_000_000), figures(2_000_000_000)],
        "children": [0, 0],
        "replaced": None,
        "calls": Comparison(30, 0, 0, Counter(alloc_magazine=1_234_567, free_slab=3)),
        "escaped": [],
        "followed": True,
        "left_behind": False,
    }
    return Report(**(facts | changes))  # type: ignore[arg-type]


def printed(**changes: object) -> str:
    text = io.StringIO()
    with redirect_stderr(text):
        print_report(report(**changes))
    return text.getvalue()


class Summary(unittest.TestCase):
    def test_the_smallest_of_each_side_and_their_ratio(self) -> None:
        self.assertRegex(printed(), r"wall time +0\.500 s +1\.000 s +0\.50x")
        self.assertRegex(printed(hakmem=[figures(5_000_000)], glibc=[figures(8_000_000)]), r"5\.0 ms +8\.0 ms +0\.62x")

    def test_no_ratio_to_nothing(self) -> None:
        self.assertRegex(printed(glibc=[figures(10, minflt=0)]), r"page faults +1,000 +0 +-\n")

    def test_columns_are_aligned(self) -> None:
        lines = [line for line in printed().splitlines() if line.startswith(("wall", "CPU", "peak", "page"))]
        self.assertEqual(len({len(line.rstrip()) for line in lines}), 1, lines)

    def test_routes(self) -> None:
        text = printed()
        self.assertRegex(text, r"magazine +1,234,567 +0\n")
        self.assertRegex(text, r"in place +0 +-\n")
        self.assertNotIn("of NULL", text)
        self.assertRegex(printed(calls=Comparison(3, 0, 0, Counter(free_null=3))), r"of NULL +- +3\n")

    def test_children(self) -> None:
        for children, text in (([0, 0], "it has no children"), ([1, 1], "1 child,"), ([3, 4], "3 to 4 children,")):
            with self.subTest(children=children):
                self.assertIn(text, printed(children=children))

    def test_unserved_calls_and_calls_the_probe_did_not_see(self) -> None:
        self.assertIn("did not serve: 0 of 30 that the probe counted\n", printed())
        self.assertIn("(HAKMEM saw 2 more)", printed(calls=Comparison(30, 0, 2, Counter())))

    def test_notes_only_when_there_is_something_to_note(self) -> None:
        self.assertNotIn("note:", printed())
        self.assertIn("note: not on HAKMEM, and not in these counts: x is", printed(escaped=["x is static"]))
        self.assertIn("note: tracing is not allowed", printed(followed=False))
        self.assertIn("note: the program left processes", printed(left_behind=True))

    def test_replaced_allocator(self) -> None:
        self.assertIn("the program brings libjemalloc.so.2", printed(replaced="libjemalloc.so.2"))

    def test_a_command_with_brackets_is_printed_as_it_is(self) -> None:
        self.assertIn("hakmem run: a [red]b[/red] :smile:", printed(program="a [red]b[/red] :smile:"))


if __name__ == "__main__":
    unittest.main()
