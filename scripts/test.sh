#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds and tests every preset, continues after a failure, and ends with one line of results.
#   test.sh                  all presets, all tests but the long ones, the libraries and tools by clang, and the libraries
#                            without learning, without warnings; of AArch64, under an emulator, what takes seconds
#   test.sh stress SCALE     the stress, model, fault and long tests of release, tsan and musl, SCALE times as long, the
#                            units on musl, and more of AArch64 with either libc
set -uo pipefail

cd "$(dirname "$0")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS
scale=1
passed=0
failed=0
failures=()
records=()
# Of AArch64: what `stress` runs; the other tests of processes were not gone through under an emulator.
tried='^(unit_|api_|musl_|wrongfree|wheel_|instructions|arm64|loader|names|routes|model_(drain|depot)|simulate|predict|fault_threads'
tried+='|cuts_at_corners|process_(StartAndExit|Dlopen|Settings|Costs|Trim|StaticLinking|depth|small_stack|stack_counted)$)'
emulated=(libraries wheel tests/{unit,api,wrongfree,instructions,wheel}/all)

title() { printf '\n=== %s\n' "$*"; }

count_failure() {
  failed=$((failed + 1))
  failures+=("$1")
}

# Adds up ctest's record of the run.
count_tests() {
  local preset=$1 record=$2 bad
  while IFS= read -r bad; do
    count_failure "$preset: $bad"
  done < <(sed -n 's/.*<testcase name="\([^"]*\)".* status="\(fail\|notrun\|disabled\)".*/\1/p' "$record")
  records+=("$preset" "$record")
  passed=$((passed + $(grep -c '<testcase .* status="run"' "$record")))
}

build() {
  local started=$SECONDS
  title "build $1"
  if ! scripts/build.sh "$@" || grep -s 'warning:' "build/$1.behind"; then
    count_failure "$1: build"
    return 1
  fi
  echo "built in $((SECONDS - started)) s"
}

# Builds the remaining presets in sequence beside the tests, on idle processor time: many tests sleep. `build` waits for
# each preset by its lock, repeats a failed build, and reports the failure.
build_behind() {
  local preset targets
  command -v flock >/dev/null || return 0
  for preset in debug asan tsan musl release-clang release-aarch64; do
    targets=()
    if [ "$preset" = release-clang ]; then targets=(libraries tools); fi
    if [ "$preset" = release-aarch64 ]; then targets=("${emulated[@]}"); fi
    nice -n 19 scripts/build.sh "$preset" "${targets[@]}" >"build/$preset.behind" 2>&1
  done &
}

# Time limits grow with the rounds.
set_time_limits() {
  grep -qx "HAK_TIMEOUT_FACTOR:STRING=$scale" "build/$1/CMakeCache.txt" ||
    cmake -DHAK_TIMEOUT_FACTOR="$scale" "build/$1" >/dev/null
}

# One more test at a time than cores: many tests sleep.
run_tests() {
  local preset=$1 record=$PWD/build/$1/tests.xml
  shift
  title "test $preset"
  rm -f "$record"
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --no-label-summary --parallel "$(($(nproc) + 1))" \
    --output-junit "$record" "$@" 2>&1 | grep -v -e '^ *Start ' -e '^Internal ctest' -e '^$'
  if [ -f "$record" ]; then count_tests "$preset" "$record"; else count_failure "$preset: no test ran"; fi
}

test_built() {
  set_time_limits "$1" || count_failure "$1: time limits"
  run_tests "$@"
}

# Processors other than this machine's, by a cross compiler: units, conformance, wrong frees and counts of instructions.
# An emulator takes minutes for some units: those run in stress.
test_emulated() {
  build release-aarch64 "${emulated[@]}" || return 0
  test_built release-aarch64 -R '^(unit|api|wrongfree|instructions|wheel_|names_(Undefined|Exported|Data))' -LE '^long$' \
    -E '^unit_(classes|slab|limits|runs|poisson|quantile|lifecycle|big_cache|peaks|extents)$'
}

test_everything() {
  local preset
  for preset in release debug asan tsan musl; do
    build "$preset" || continue
    if [ "$preset" = release ]; then build_behind; fi
    test_built "$preset" -LE '^long$'
  done
  if build release-clang libraries tools; then passed=$((passed + 1)); fi
  if build release-nolearn libraries; then passed=$((passed + 1)); fi # its tests: without_learning_* of release
  test_emulated
  wait
}

test_stress() {
  local preset
  export HAK_TEST_SCALE=$scale
  for preset in release tsan musl; do
    if build "$preset"; then test_built "$preset" -L '^(stress|model|fault|long)$'; fi
  done
  HAK_ZIG=$(scripts/zig.sh) || count_failure "musl-zig: no ziglang"
  export HAK_ZIG
  if [ -n "$HAK_ZIG" ] && build musl-zig; then test_built musl-zig -L '^(unit|model|fault|stress|musl)$'; fi
  if ! scripts/musl_root.sh aarch64 >/dev/null; then
    count_failure "musl-zig-aarch64: no musl"
  elif [ -n "$HAK_ZIG" ] && build musl-zig-aarch64; then
    test_built musl-zig-aarch64 -R "$tried"
  fi
  if build release-aarch64; then test_built release-aarch64 -R "$tried"; fi
}

# The end of a long record is what a reader sees first.
closing_lines() {
  local at
  title "summary"
  for ((at = 0; at < ${#records[@]}; at += 2)); do
    python3 scripts/failed_tests.py "${records[at]}" "${records[at + 1]}"
  done
  if [ "$failed" -gt 0 ]; then printf 'failed: %s\n' "${failures[@]}"; fi
  echo "took $((SECONDS / 60)) min $((SECONDS % 60)) s"
  echo "$passed passed, $failed failed"
}

usage() {
  echo "test.sh: expected nothing or 'stress SCALE' with a whole number, got '$*'" >&2
  exit 2
}

rm -f build/*.behind
case ${1:-all} in
  all) test_everything ;;
  stress)
    scale=${2:-20}
    [[ $scale =~ ^[1-9][0-9]{0,3}$ ]] || usage "$@"
    test_stress
    ;;
  *) usage "$@" ;;
esac
closing_lines
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
