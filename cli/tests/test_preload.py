# SPDX-License-Identifier: MIT OR Apache-2.0
"""LD_PRELOAD and the environment of a run."""

from __future__ import annotations

import unittest
from pathlib import Path

from hakmem.base.errors import Refusal
from hakmem.process.preload import callers_preloads, environment, preload_value

LIBRARY = Path("/opt/hakmem/libhakmem.so")


class Preload(unittest.TestCase):
    def test_the_callers_come_last(self) -> None:
        self.assertEqual(preload_value([LIBRARY], ["/opt/other.so"]), f"{LIBRARY} /opt/other.so")

    def test_hakmem_itself_is_taken_out(self) -> None:
        variables = {"LD_PRELOAD": f"/a.so:{LIBRARY} /b.so"}
        self.assertEqual(callers_preloads(variables, LIBRARY), ["/a.so", "/b.so"])
        self.assertEqual(callers_preloads({}, LIBRARY), [])

    def test_a_path_the_dynamic_linker_would_split(self) -> None:
        for path in ("/my files/libhakmem.so", "/a:b/libhakmem.so"):
            with self.subTest(path=path), self.assertRaisesRegex(Refusal, "cannot be preloaded"):
                preload_value([Path(path)], [])

    def test_counting_is_not_inherited_and_settings_are(self) -> None:
        base = {"HAKMEM_COUNT_CALLS": "on", "HAKMEM_COUNTERS_FILE": "/x", "HAKMEM_LAB_BIG_THRESHOLD": "2M", "A": "1"}
        expected = {"HAKMEM_LAB_BIG_THRESHOLD": "2M", "A": "2", "LD_PRELOAD": "/l.so"}
        self.assertEqual(environment(base, "/l.so", {"A": "2"}), expected)


if __name__ == "__main__":
    unittest.main()
