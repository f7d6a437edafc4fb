# SPDX-License-Identifier: MIT OR Apache-2.0
"""php: json, mbstring, xml, sqlite by PDO and cycles of objects; PHP's heap or malloc alone; opcache; a memory limit.

PHP opens its extensions with RTLD_DEEPBIND, so their calls of free reach libc unless the allocator sees to it.
"""

from harness.session import Session

GREEDY = 'ini_set("memory_limit", "20M"); $a = []; while (true) { $a[] = str_repeat("x", 100000); }'
OPCACHE = ("-d", "opcache.enable_cli=1", "-d", "opcache.file_update_protection=0", "-d", "opcache.jit_buffer_size=16M")


def run(session: Session) -> None:
    """The script three times, a fatal error, and the loaded extensions."""
    script = str(session.inputs / "work.php")
    session.run("php", "-m")
    session.run("php", script)
    session.run("php", script, env={"USE_ZEND_ALLOC": "0"})
    session.run("php", *OPCACHE, script)
    session.run("php", "-d", "display_errors=stderr", "-r", GREEDY, expect=255)
    session.result("words.csv")
