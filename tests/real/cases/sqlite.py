# SPDX-License-Identifier: MIT OR Apache-2.0
"""sqlite3: a database with tables, indexes, JSON, full text and window functions; the file itself is compared."""

from harness.session import Session


def run(session: Session) -> None:
    """Makes the database, checks it in a second process, dumps it in a third."""
    script = (session.inputs / "work.sql").read_bytes()
    session.run("sqlite3", "-bail", "-batch", "work.db", stdin=script)
    session.run("sqlite3", "-batch", "work.db", "PRAGMA integrity_check; PRAGMA foreign_key_check;")
    session.run("sqlite3", "-batch", "work.db", ".dump author")
    session.result("work.db")
