#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds the libraries of another commit and tries them in one process with this checkout's, each preloaded before the other;
# then reads here what that commit's library writes: versions.sh COMMIT. The commit's build stays in build/versions/COMMIT.
set -euo pipefail

cd "$(dirname "$0")/../.."
[ $# -eq 1 ] || { echo "versions.sh: expected one commit, got $#" >&2; exit 2; }
commit=$(git rev-parse --short=8 --verify --quiet "$1^{commit}") || { echo "versions.sh: no commit $1 here" >&2; exit 2; }
source=$PWD/build/versions/$commit
if [ ! -e "$source/made" ]; then
  mkdir -p "$source"
  git archive "$commit" | tar x -C "$source"
  (cd "$source" && cmake --preset release -DHAK_BUILD_TESTS=OFF && cmake --build build/release --target libraries) \
    >"$source.log" 2>&1 || { echo "versions.sh: $commit does not build; see $source.log" >&2; exit 1; }
  touch "$source/made"
fi
export HAK_TEST_BUILD=build/release HAK_TEST_LIBRARY=build/release/libhakmem.so HAK_TEST_OLD=$source/build/release
status=0
for tests in versions written; do
  build/venv/bin/python -B "tests/versions/${tests}_test.py" -v || status=1
done
exit $status
