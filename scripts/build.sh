#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Configures (when needed) and builds one preset; prints only when there is work or trouble: build.sh PRESET [TARGET...]
set -euo pipefail

cd "$(dirname "$0")/.."
preset=$1
shift
log=build/$preset.log
mkdir -p build

configure() {
  if ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log"
    exit 1
  fi
  touch "build/$preset/configured"
}

# Ninja itself re-runs CMake when a CMakeLists.txt or the set of sources changes, but knows nothing of presets.
if [ ! -f "build/$preset/configured" ] || [ CMakePresets.json -nt "build/$preset/configured" ]; then
  configure
fi
[ -e "build/$preset/libhakmem.a" ] || echo "build.sh: building build/$preset (once; a minute or so)"
targets=()
[ $# -eq 0 ] || targets=(--target "$@")
if ! cmake --build --preset "$preset" "${targets[@]}" >"$log" 2>&1; then
  grep -v '^\[[0-9]*/[0-9]*\] ' "$log"
  exit 1
fi
if grep -n 'warning:' "$log"; then
  echo "build.sh: $preset: warnings, see above" >&2
  exit 1
fi
