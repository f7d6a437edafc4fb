# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs test suites of CPython (Debian's libpython3.11-testsuite) by name, one line per test."""

import sys
import unittest

from test import support

support.verbose = 0  # else test_threading prints what its threads do, in the order they do it

if __name__ == "__main__":
    unittest.main(module=None, argv=[sys.argv[0], "-v", *sys.argv[1:]])
