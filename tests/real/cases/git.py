# SPDX-License-Identifier: MIT OR Apache-2.0
"""git: a repository with fixed dates: commits, branches, a merge, gc, fsck, log, clone. Packs are compared too."""

from harness.session import Session

IDENTITY = {
    "GIT_AUTHOR_NAME": "A U Thor", "GIT_AUTHOR_EMAIL": "author@example.com",
    "GIT_COMMITTER_NAME": "C O Mitter", "GIT_COMMITTER_EMAIL": "committer@example.com",
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat",
}
COMMITS = 24


def git(session: Session, *arguments: str, minute: int = 0) -> None:
    """One git command; dates come from the minute, and packing uses one thread so that packs are reproducible."""
    date = f"2024-01-02T03:{minute:02}:00Z"
    env = IDENTITY | {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    session.run("git", "-c", "pack.threads=1", "-c", "gc.auto=0", *arguments, env=env)


def write_files(session: Session, round_number: int) -> None:
    """Some files that change a little every round, so that packing finds deltas."""
    for n in range(6):
        lines = [f"line {i} of file {n}, round {round_number if i % (n + 7) == 0 else 0}\n" for i in range(400)]
        (session.work / f"file{n}.txt").write_text("".join(lines))


def run(session: Session) -> None:
    """The life of a small repository."""
    git(session, "init", "-q", "-b", "main", ".")
    for number in range(COMMITS):
        write_files(session, number)
        git(session, "add", ".", minute=number)
        git(session, "commit", "-q", "-m", f"round {number}", minute=number)
    git(session, "checkout", "-q", "-b", "side", "HEAD~5")
    (session.work / "side.txt").write_text("aside\n" * 1000)
    git(session, "add", "side.txt")
    git(session, "commit", "-q", "-m", "aside", minute=40)
    git(session, "checkout", "-q", "main")
    git(session, "merge", "-q", "-m", "merged", "side", minute=41)
    git(session, "tag", "-a", "-m", "a tag", "v1", minute=42)
    git(session, "gc", "-q", "--aggressive", "--prune=now")
    git(session, "fsck", "--full", "--strict")
    git(session, "log", "--graph", "--stat", "--format=%H %T %an %ad %s", "--date=iso")
    git(session, "diff", "--patience", "HEAD~9", "HEAD")
    git(session, "blame", "file3.txt")
    git(session, "grep", "-c", "round 2")
    git(session, "rev-list", "--objects", "--all")
    git(session, "clone", "-q", "--no-local", ".", "copy")
    git(session, "-C", "copy", "count-objects", "-v")
    session.result(".git/objects/pack/*", ".git/packed-refs")
