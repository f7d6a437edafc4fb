# SPDX-License-Identifier: MIT OR Apache-2.0
"""The commands of the command line, as typer reads them: what each asks for and says, and who does it.

What a command needs is loaded when it runs, so that `--help`, `--version` and a mistyped option answer at once.
"""
