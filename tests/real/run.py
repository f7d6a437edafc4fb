"""run.py: runs real programs on glibc and on a preloaded allocator and compares what they do, byte for byte.

usage     run.py --library build/release/libhakmem.so [--outputs DIR] [--list] [case ...]
what      Without names, every case in cases/. README.md beside this file says how a case is written.
failure   Exit 1 when a case failed (its outputs stay below DIR), 2 when the arguments make no sense.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness.filters import FilterError, Rule, load_rules  # noqa: E402
from harness.runner import REAL, case_names, run_case  # noqa: E402


def parsed() -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(description="real programs on glibc and on another allocator, compared")
    parser.add_argument("--library", dest="so_file", type=Path, help="the allocator to preload")
    parser.add_argument("--outputs", type=Path, help="where the outputs of failed cases stay")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("case", nargs="*", help="names of cases (default: all)")
    options = parser.parse_args()
    unknown = sorted(set(options.case) - set(case_names()))
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}")
    if not options.list and (options.so_file is None or not options.so_file.is_file()):
        parser.error("--library must name a file")
    return options


def one_case(name: str, library: Path, outputs: Path, rules: list[Rule]) -> bool:
    """Runs a case and prints one line, or the differences."""
    verdict = run_case(name, library, outputs, rules)
    if not verdict.lines:
        print(f"ok    {name:10} {verdict.processes} processes served by {library.name}", flush=True)
        return True
    print(f"FAIL  {name:10} outputs kept in {outputs / name}")
    for line in verdict.lines[:60]:
        print("  " + line.encode("utf-8", "backslashreplace").decode("utf-8"))
    sys.stdout.flush()
    return False


def main() -> int:
    """All wanted cases, one after the other."""
    options = parsed()
    if options.list:
        print("\n".join(case_names()))
        return 0
    try:
        rules = load_rules(REAL / "filter.txt")
    except FilterError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    outputs = (options.outputs or Path(tempfile.mkdtemp(prefix="hakmem-real-"))).resolve()
    library = options.so_file.resolve()
    results = [one_case(name, library, outputs, rules) for name in options.case or case_names()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
