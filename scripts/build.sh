#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Configures (when needed) and builds one preset; prints only when there is work or trouble: build.sh PRESET [TARGET...]
# Targets command, libraries, tools and wheel alone need no package of the tests, as GoogleTest.
set -euo pipefail

cd "$(dirname "$0")/.."
preset=$1
shift
log=build/$preset.log
mkdir -p build
. scripts/lock.sh
hold "$preset" "build.sh: build/$preset"

tests=OFF
[ $# -gt 0 ] || tests=ON
for target; do
  case $target in command | libraries | tools | wheel) ;; *) tests=ON ;; esac
done

configure() {
  if ! cmake --preset "$preset" -DHAK_BUILD_TESTS="$1" >"$log" 2>&1 9>&-; then
    cat "$log"
    exit 1
  fi
  echo "$1" >"build/$preset/configured"
}

# Ninja re-runs CMake when a CMakeLists.txt or the set of sources changes, but ignores changes of presets. Configured
# tests stay.
had=$(cat "build/$preset/configured" 2>/dev/null || true)
if [ "$had $tests" = "OFF ON" ] || [ -z "$had" ] || [ CMakePresets.json -nt "build/$preset/configured" ]; then
  if [ "$had" = ON ]; then configure ON; else configure "$tests"; fi
fi
[ -n "$had" ] || echo "build.sh: building build/$preset (once; a minute or so)"
targets=()
[ $# -eq 0 ] || targets=(--target "$@")
if ! cmake --build --preset "$preset" "${targets[@]}" >"$log" 2>&1 9>&-; then
  grep -v '^\[[0-9]*/[0-9]*\] ' "$log"
  exit 1
fi
if grep -n 'warning:' "$log"; then
  echo "build.sh: $preset: warnings, see above" >&2
  exit 1
fi
