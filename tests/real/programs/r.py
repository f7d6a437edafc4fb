# SPDX-License-Identifier: MIT OR Apache-2.0
"""R: matrices, lm and glm, data frames, strings, closures, a forked cluster, plots as PostScript and PNG."""

from harness.session import Session


def run(session: Session) -> None:
    """The script, its sources kept byte-compiled and not."""
    script = str(session.inputs / "work.R")
    session.run("Rscript", "--vanilla", script)
    session.run("Rscript", "--vanilla", script, env={"R_ENABLE_JIT": "0"})
    session.result("plot.*", "frame.csv", "kept.rds")
