# SPDX-License-Identifier: MIT OR Apache-2.0
"""redis-server: a deterministic load and redis-benchmark over a unix socket; data compared by DEBUG DIGEST.

Debian's redis links jemalloc. The harness preloads libc.so.6 for the run on glibc, and the witness proves whose
malloc either server uses; the running server's map of memory is looked at as well.
"""

import random

from harness.proof import maps_library
from harness.session import CaseError, Session

SOCKET = "redis.sock"
LOG = "server.log"
TESTS = "ping,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,zadd,lrange_100,mset"
BENCHMARK = ("-n", "20000", "-c", "16", "-P", "4", "-d", "200", "--csv", "-t", TESTS)


def cli(session: Session, *words: str, stdin: bytes = b"") -> str:
    """One redis-cli call over the socket."""
    return session.run("redis-cli", "-s", SOCKET, *words, stdin=stdin).stdout


def quoted(value: bytes) -> bytes:
    """A value as redis-cli reads it from its input."""
    return b'"' + b"".join(b"\\x%02x" % byte for byte in value) + b'"'


def one_command(rng: random.Random) -> bytes:
    """A random write whose effect does not depend on time or on redis's own random numbers."""
    key, member = b"%d" % rng.randrange(400), b"m%d" % rng.randrange(200)
    value = quoted(rng.randbytes(rng.choice((3, 17, 60, 400, 3000))))
    return rng.choice((
        b"SET str:%b %b" % (key, value),
        b"APPEND str:%b %b" % (key, value),
        b"SETRANGE str:%b %d %b" % (key, rng.randrange(2000), value),
        b"HSET hash:%b %b %b" % (key, member, value),
        b"HDEL hash:%b %b" % (key, member),
        b"RPUSH list:%b %b" % (key, value),
        b"LPOP list:%b" % key,
        b"SADD set:%b %b" % (key, member),
        b"SREM set:%b %b" % (key, member),
        b"ZADD zset:%b %d %b" % (key, rng.randrange(1000), member),
        b"ZREM zset:%b %b" % (key, member),
        b"DEL str:%b hash:%b" % (key, key),
        b"COPY str:%b str:copy%b REPLACE" % (key, key),
        b"XADD stream:%b %d-1 f %b" % (key, rng.randrange(1, 1 << 40), value),
    ))


def load(count: int) -> bytes:
    """The commands, the same in every run."""
    rng = random.Random(20240229)
    return b"\n".join(one_command(rng) for _ in range(count)) + b"\n"


def run(session: Session) -> None:
    """Load, digest, reload from disk, benchmark, digest, shut down."""
    server = session.start(
        "redis-server", "--port", "0", "--unixsocket", SOCKET, "--save", "", "--enable-debug-command", "yes",
        "--activerehashing", "no", log=LOG)
    session.wait_until((session.work / SOCKET).is_socket, server, LOG)
    if not maps_library(server.pid, session.allocator.so_file):
        raise CaseError(f"redis-server does not map {session.allocator.so_file}")
    cli(session, stdin=load(12000))
    cli(session, "DEBUG", "DIGEST")
    cli(session, "DEBUG", "RELOAD")
    cli(session, "DEBUG", "DIGEST")
    session.run("redis-benchmark", "-s", SOCKET, *BENCHMARK)
    cli(session, "SAVE")
    cli(session, "DBSIZE")
    cli(session, "DEBUG", "DIGEST")
    cli(session, "FLUSHALL")
    cli(session, "SHUTDOWN", "NOSAVE")
    session.finish(server, "redis-server")
