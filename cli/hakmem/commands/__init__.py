# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands, a file each, which declares what the command takes.

A new command is its file here and its test in cli/tests; `make manual` writes the manual page and the completions.
The help has two groups: FIRST in this order, then all others by name.
"""

import os

NO_COMMANDS = ("__init__", "shared")
FILES = (os.path.splitext(name) for name in os.listdir(os.path.dirname(__file__)))
NAMES = tuple(sorted(name for name, ending in FILES if ending == ".py" and name not in NO_COMMANDS))
FIRST = ("run", "exec", "top", "report", "profile", "explain", "doctor")
GROUPS = {"Commands": FIRST, "More commands": tuple(name for name in NAMES if name not in FIRST)}
