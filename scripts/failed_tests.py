# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the last lines of each failed test of a run: failed_tests.py NAME RECORD, a JUnit file of ctest's."""

import sys
import xml.etree.ElementTree as tree

LINES = 15


def main() -> None:
    name, record = sys.argv[1:]
    for case in tree.parse(record).getroot().iter("testcase"):
        if case.get("status") != "fail":
            continue
        said = (case.findtext("system-out") or "").rstrip().splitlines()
        print(f"\n--- {name}: {case.get('name')}, {float(case.get('time', 0)):.0f} s, ends with:")
        print("\n".join(said[-LINES:]))


main()
