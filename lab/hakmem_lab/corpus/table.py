# SPDX-License-Identifier: MIT OR Apache-2.0
"""The programs of the corpus, a row each: where they come from, what they work on, how they are started.

Each runs in a folder of its own that holds its input, so that no path of the machine gets into a trace by its command.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hakmem_lab.corpus import inputs


@dataclass(frozen=True)
class Row:
    """`words` are started in a folder where `file` holds what `text` returns."""

    name: str
    package: str  # of Debian
    commands: tuple[str, ...]  # that must be there
    words: tuple[str, ...]
    file: str | None = None
    text: Callable[[], str] | None = None
    stdin: bool = False  # the file is its standard input
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        return [command for command in self.commands if shutil.which(command) is None]


PYTHON = ("/usr/bin/python3", "-I", "json_and_dicts.py")
PICTURE = ("-q", "-dSAFER", "-sDEVICE=ppmraw", "-r110", "-o", "out.ppm", "drawing.ps")
FILM = ("-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25:duration=20", "-f", "lavfi", "-i", "sine=duration=20")
FILTERS = ("-vf", "split[a][b];[b]scale=320:180,hflip[c];[a][c]overlay=20:20")
CODECS = ("-threads", "2", "-c:v", "mpeg4", "-c:a", "aac", "-y", "out.mkv")

PROGRAMS = (
    Row("g++", "g++", ("g++",), ("g++", "-O1", "-c", "templates.cpp", "-o", "templates.o"), "templates.cpp",
        inputs.templates),
    Row("python3", "python3", PYTHON[:1], PYTHON, "json_and_dicts.py", inputs.json_and_dicts),
    Row("python3-malloc", "python3", PYTHON[:1], ("/usr/bin/python3", "-s", "json_and_dicts.py"), "json_and_dicts.py",
        inputs.json_and_dicts, variables={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}),
    Row("redis-server", "redis-server redis-tools", ("redis-server", "redis-cli", "redis-benchmark"), ("sh", "load.sh"),
        "load.sh", inputs.redis_load),
    Row("sqlite3", "sqlite3", ("sqlite3",), ("sqlite3", "-batch", "-bail"), "tables.sql", inputs.tables, stdin=True),
    Row("ghostscript", "ghostscript", ("gs",), ("gs", *PICTURE), "drawing.ps", inputs.drawing),
    Row("node", "nodejs", ("node",), ("node", "buffers.js"), "buffers.js", inputs.buffers),
    Row("z3", "z3", ("z3",), ("z3", "puzzle.smt2"), "puzzle.smt2", inputs.puzzle),
    Row("ffmpeg", "ffmpeg", ("ffmpeg",), ("ffmpeg", "-nostdin", "-loglevel", "error", *FILM, *FILTERS, *CODECS)),
)
