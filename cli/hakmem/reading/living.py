# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether a process is there to be looked at: one sentence for each way in which it is not.

    /proc/PID/status -> State, Threads  whether it has ended
                     -> Tgid            whose thread it is, else its own number
                     -> NSpid           its numbers, from this namespace to the innermost, which is its own
    /proc/PID/root                      its files, where it has other mounts than this command
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from hakmem.base.errors import Refusal

ENDED = ("Z", "X")
ENDING_SECONDS = 2.0
SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
ADVICE = {
    "1": "run hakmem as root (sudo hakmem ...), or sysctl kernel.yama.ptrace_scope=0 first",
    "2": "run hakmem as root (sudo hakmem ...)", "3": "no process may before the next boot of the machine",
}
CAP_SYS_PTRACE = 19  # its bit
CONTAINER_ADVICE = "start the container with --cap-add SYS_PTRACE, or run hakmem outside of it"


def facts_of(pid: int) -> dict[str, str]:
    """The lines of /proc/PID/status, by key."""
    text = Path(f"/proc/{pid}/status").read_text("utf-8", "replace")
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def own_numbers(pid: int) -> list[str]:
    """The process's number here, and those that it has in namespaces of its own; the last is what getpid says there."""
    return [str(pid), *facts_of(pid).get("NSpid", "").split()[1:]]


def root_of(pid: int) -> str:
    """What stands before its paths to name its files from here; "": they are ours. As in a container they are not."""
    root = f"/proc/{pid}/root"
    try:
        mounts = [os.readlink(f"/proc/{each}/ns/mnt") for each in (pid, "self")]
        return root if mounts[0] != mounts[1] or not os.path.samefile(root, "/") else ""
    except OSError:
        return ""


def maps_of(pid: int) -> str:
    """/proc/PID/maps, with paths as the process has them: of one in a chroot the kernel says them from its namespace's root.
    An OSError is the caller's."""
    text = Path(f"/proc/{pid}/maps").read_text("utf-8", "replace")
    try:
        root = os.readlink(f"/proc/{pid}/root")
    except OSError:
        return text
    return text if root == "/" else re.sub(rf"(?m)^((?:\S+ ){{5}} *){re.escape(root)}(?=/)", r"\1", text)


def why_gone(pid: int) -> str | None:
    """None: it is there."""
    try:
        facts = facts_of(pid)
    except OSError:
        return f"there is no process {pid}"
    if facts.get("Tgid", str(pid)) != str(pid):
        return f"{pid} is a thread of process {facts['Tgid']}, which has the memory: give that number"
    if facts.get("State", "")[:1] not in ENDED:
        return None
    if facts.get("Threads", "1") not in ("0", "1"):
        return f"the first thread of process {pid} has ended: the kernel shows nothing of the others under this number"
    return f"process {pid} has ended (its parent has not asked for its status)"


def gone(pid: int) -> Refusal:
    """The refusal where a file of the process in /proc was not there: the process may have ended just now."""
    return Refusal(why_gone(pid) or f"there is no process {pid}")


def refuse_if_gone(pid: int) -> None:
    """What a process that has ended kept would else read as empty."""
    if (why := why_gone(pid)) is not None:
        raise Refusal(why)


def refuse_if_ended(pid: int, during: str) -> None:
    """As refuse_if_gone, of a process that was there; `during` names the work with it since."""
    if (why := why_gone(pid)) is not None:
        there = Path(f"/proc/{pid}").exists()
        raise Refusal(why if there else f"process {pid} ended while it was {during}")


def refuse_if_ending(pid: int, during: str) -> None:
    """As refuse_if_ended, of a process whose memory has just gone: one that ends has nothing mapped for a moment."""
    deadline = time.monotonic() + ENDING_SECONDS
    while time.monotonic() < deadline:
        refuse_if_ended(pid, during)
        try:
            if Path(f"/proc/{pid}/maps").read_bytes():
                return
        except OSError:
            pass
        time.sleep(0.01)


def is_mine(pid: int) -> bool:
    """A process that has ended has no owner, and is told as such elsewhere."""
    try:
        return os.geteuid() == 0 or str(os.geteuid()) in facts_of(pid).get("Uid", "").split()
    except OSError:
        return True


def may_trace() -> bool:
    """Whether this command has CAP_SYS_PTRACE, which root in a container mostly lacks."""
    return bool(int(facts_of(os.getpid()).get("CapEff", "0"), 16) >> CAP_SYS_PTRACE & 1)


def why_forbidden(pid: int, attached: bool = True) -> str:
    """In one line, with what to do. attached: what was refused takes the rights of a debugger, as memory does; else
    those of a reader of /proc, which Yama leaves alone."""
    try:
        scope = SCOPE.read_text("ascii").strip() if attached else "0"
    except OSError:
        scope = "0"
    if not is_mine(pid):
        return f"process {pid} is another user's: only that user and root may look into it (sudo hakmem ...)"
    if os.geteuid() == 0 and scope != "3" and not may_trace():
        return f"process {pid}: its memory cannot be read, as this root lacks CAP_SYS_PTRACE: {CONTAINER_ADVICE}"
    if scope in ADVICE:
        return f"process {pid}: its memory cannot be read, as kernel.yama.ptrace_scope is {scope}: {ADVICE[scope]}"
    if os.geteuid() == 0:
        return f"process {pid} is protected from root, too, as by a security module or a user namespace"
    return f"process {pid} is protected, as programs with raised rights are: only root may look into it (sudo hakmem ...)"
