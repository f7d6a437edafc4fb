# SPDX-License-Identifier: MIT OR Apache-2.0
"""lua5.4: tables, strings, coroutines and the collector in both of its modes."""

from harness.session import Session


def run(session: Session) -> None:
    """The script under the incremental and the generational collector."""
    for mode in ("incremental", "generational"):
        session.run("lua5.4", str(session.inputs / "work.lua"), mode)
