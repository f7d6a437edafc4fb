# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands, a file each, which declares what the command takes. Here is their order in the help and the manual page.

A new command: its file, its name below, its test in cli/tests; `make manual` writes the manual page and the completions.
"""

GROUPS = (
    ("Run a program", ("run", "exec", "path", "env", "doctor")),
    ("Look into a process", ("stats", "top", "explain", "profile", "report")),
    ("Record every call", ("trace", "replay", "sites")),
    ("Learn", ("learn", "decisions", "policy")),
)
NAMES = tuple(name for _, names in GROUPS for name in names)
