# SPDX-License-Identifier: MIT OR Apache-2.0
"""web: what cases with a web server share: a free port, pages fetched, load by ab.

what      Everything stays on the loopback interface. A page's body is compared byte for byte; of ab's report what
          filter.txt leaves of it.
failure   A page that cannot be had is a CaseError.
not here  Servers and their settings (cases/nginx.py, programs/apache.py).
"""

from __future__ import annotations

import socket
import urllib.error
import urllib.request

from harness.process import Started
from harness.session import CaseError, Session

FETCH_LIMIT_S = 30


def free_port() -> int:
    """A port of the loopback interface that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """True when someone answers."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def fetch(session: Session, port: int, path: str, name: str) -> None:
    """Keeps a page's body under the name, for the comparison."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=FETCH_LIMIT_S) as answer:
            session.keep(name, answer.read())
    except urllib.error.HTTPError as error:
        session.keep(name, b"%d %b" % (error.code, error.read()))
    except (OSError, urllib.error.URLError) as error:
        raise CaseError(f"{path} cannot be fetched: {error}") from None


def load(session: Session, port: int, path: str, *options: str) -> None:
    """ab to its end; its report joins the transcript."""
    session.run("ab", "-q", *options, f"http://127.0.0.1:{port}{path}")


def start_load(session: Session, port: int, path: str, *options: str) -> Started:
    """ab beside the next steps; finish_load waits for it."""
    return session.start("ab", "-q", *options, f"http://127.0.0.1:{port}{path}", log="load.log")


def finish_load(session: Session, started: Started) -> None:
    """What it counted joins the transcript."""
    session.finish(started, "ab")
    session.run("grep", "-E", "^(Complete|Failed|Non-2xx)", "load.log")
