# SPDX-License-Identifier: MIT OR Apache-2.0
"""ruby: its own tests, from Debian's source, run by Debian's interpreter; tests of C extensions made for tests are left out."""

from __future__ import annotations

import re
from pathlib import Path

from judging.side import Ran, Side
from judging.sources import fetched
from judging.verdicts import Verdicts, add

TITLE = "ruby"
PACKAGE = "ruby3.1"
PART = "memory, threads, processes, containers, text, C extensions; a skipped case counts as ok"
UNITS = """
ruby/test_gc.rb ruby/test_gc_compact.rb ruby/test_weakmap.rb ruby/test_objectspace.rb ruby/test_array.rb ruby/test_hash.rb
ruby/test_string.rb ruby/test_symbol.rb ruby/test_struct.rb ruby/test_object.rb ruby/test_proc.rb ruby/test_method.rb
ruby/test_module.rb ruby/test_class.rb ruby/test_regexp.rb ruby/test_m17n.rb ruby/test_transcode.rb ruby/test_pack.rb
ruby/test_marshal.rb ruby/test_bignum.rb ruby/test_enumerator.rb ruby/test_lazy_enumerator.rb ruby/test_exception.rb
ruby/test_backtrace.rb ruby/test_settracefunc.rb ruby/test_iseq.rb ruby/test_parse.rb ruby/test_syntax.rb ruby/test_autoload.rb
ruby/test_thread.rb ruby/test_thread_queue.rb ruby/test_thread_cv.rb ruby/test_fiber.rb ruby/test_continuation.rb
ruby/test_signal.rb ruby/test_process.rb ruby/test_io.rb ruby/test_io_buffer.rb ruby/test_io_m17n.rb ruby/test_rubyoptions.rb
ruby/test_yjit.rb fiber fiddle objspace json psych zlib stringio strscan bigdecimal digest ripper coverage monitor socket
""".split()
STARTED = re.compile(r"^\[ *\d+/\d+\] (\S+#.+?)(?: = [\d.]+ s)?(?: = .)?$", re.MULTILINE)
OTHERWISE = re.compile(r"^ +\d+\) (Failure|Error|Skipped):\n(\S+#[^\n]+?)(?: \[[^\n]*)?:?$", re.MULTILINE)
WORDS = {"Failure": "failed", "Error": "failed", "Skipped": "skipped"}


def prepare(folder: Path) -> None:
    fetched("ruby3.1", folder)


def units(folder: Path) -> list[str]:
    tests = folder.parent / "sources" / "ruby3.1" / "test"
    return [unit for unit in UNITS if (tests / unit).exists()]


def run(side: Side, folder: Path, unit: str) -> Verdicts:
    source = folder.parent / "sources" / "ruby3.1"
    ran = side.run("/usr/bin/ruby", "test/runner.rb", "--ruby=/usr/bin/ruby", "--excludes-dir=test/excludes", "--seed=7", "-v", unit,
                   cwd=source)
    return verdicts_of(unit, ran)


def verdicts_of(unit: str, ran: Ran) -> Verdicts:
    """Each case's, and the status of the run, which tells of a crash."""
    verdicts: Verdicts = {(unit, "the run"): ran.ending()}
    for case in STARTED.findall(ran.text):
        add(verdicts, unit, case, "ok")
    for kind, case in OTHERWISE.findall(ran.text):
        add(verdicts, unit, case, WORDS[kind])
    return verdicts
