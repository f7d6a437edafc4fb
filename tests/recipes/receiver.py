# SPDX-License-Identifier: MIT OR Apache-2.0
"""Stands where a Pyroscope server would: takes its push request in JSON, and refuses what the server would not understand.

    POST /push.v1.PusherService/Push    {"series": [{"labels": [{"name", "value"}, ...], "samples": [{"rawProfile"}]}]}

A sample is a pprof profile, gzipped, in base64. Every series has a `__name__` and a `service_name`.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hakmem.reading.pprof import columns, read

PATH = "/push.v1.PusherService/Push"
LABELS = {"__name__", "service_name"}


def check_sample(sample: dict[str, str]) -> None:
    packed = base64.b64decode(sample["rawProfile"], validate=True)
    if not packed.startswith(b"\x1f\x8b"):
        raise ValueError("not gzipped")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "profile.pb.gz"
        file.write_bytes(packed)
        profile = read(file)
    if sum(each.value[columns(profile)["inuse_space"]] for each in profile.sample) == 0:
        raise ValueError("nothing is in use")
    if not any(profile.string_table[function.name] for function in profile.function):
        raise ValueError("no function is named")


def check_series(series: dict[str, Any]) -> None:
    labels = {label["name"]: label["value"] for label in series["labels"]}
    if not LABELS <= labels.keys() or not all(labels.values()):
        raise ValueError(f"labels {labels}")
    for sample in series["samples"]:
        check_sample(sample)


class Push(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            if self.path != PATH or self.headers["Content-Type"] != "application/json":
                raise ValueError(f"{self.path}, {self.headers['Content-Type']}")
            for series in json.loads(body)["series"]:
                check_series(series)
            self.answer(200, {})
        except Exception as failure:  # whatever was wrong with it is the answer
            self.answer(400, {"code": "invalid_argument", "message": repr(failure)})

    def answer(self, status: int, said: dict[str, str]) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(said).encode() + b"\n")

    def log_message(self, *_: object) -> None:
        """Its answers say enough."""


@contextmanager
def receiver() -> Iterator[str]:
    """Its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Push)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
