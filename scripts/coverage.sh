#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Lines of src/ that the tests of single units, the models and refused kernel calls run, and by single processes with
# the library preloaded: a table per layer, and the lines that none runs. All lies in build/coverage.
#   coverage.sh [REGEX]   the tests of this name only, as ctest -R
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lock.sh
. scripts/venv.sh

tests=${1:-'^(unit_|model|fault_|stress_|wrongfree|api_|routes|unwind_|process_|secure_|cli_(ask|ask_samples|crash|explain|profile|stop|top|trace)$)'}
# Counted with the fault injection of tests/fault; these count instructions, calls, pages or bytes of the stack instead.
not='^(process_(Tiny|stack|small_stack|depth|SteadyLoad|Valgrind|SystemCalls)|fault_.*_whole|secure_(real|cuts|process|chances))'
folder=$PWD/build/coverage
hold coverage "coverage.sh: build/coverage"
ensure_venv build/coverage/venv "coverage: getting gcovr" "gcovr==8.8"

# Counters are atomic, as threads share them. A process that ends by a signal writes those of the libraries
# (coverage_end.c), not its own.
mkdir -p "$folder"
cc -O1 -fPIC -Isrc -c scripts/coverage_end.c -o "$folder/end.o"
[ -f "$folder/build/build.ninja" ] || cmake --preset release -B "$folder/build" -DHAK_WERROR=OFF \
  -DCMAKE_C_FLAGS="--coverage -fprofile-update=atomic" -DCMAKE_EXE_LINKER_FLAGS=--coverage \
  -DCMAKE_SHARED_LINKER_FLAGS="--coverage $folder/end.o -Wl,--wrap=hak_kernel,--wrap=hak_kernel_sigaction" \
  >"$folder/cmake.log"
targets=(libraries tools tests/tools/all hak_redecide hak_retune)
for group in unit model fault stress wrongfree api unwind process secure secure_flavour; do targets+=("tests/$group/all"); done
nice ninja -C "$folder/build" "${targets[@]}" >"$folder/build.log" || { tail -20 "$folder/build.log"; exit 1; }
find "$folder/build" -name '*.gcda' -delete
# A test may fail with counters in the library (a time limit, a count of instructions): its lines count all the same.
nice ctest --test-dir "$folder/build" -j2 -R "$tests" -E "$not" --output-on-failure >"$folder/tests.log" || true
tail -n 30 "$folder/tests.log" | sed -n '/tests passed/,$p'

"$folder/venv/bin/gcovr" --root . --filter 'src/' --exclude-throw-branches --merge-mode-functions=merge-use-line-0 \
  --json "$folder/lines.json" --gcov-ignore-errors=all -j 2 --gcov-suspicious-hits-threshold 0 \
  "$folder/build/CMakeFiles" "$folder/build/tests/unit" >"$folder/gcovr.log" 2>&1
build/venv/bin/python scripts/coverage.py "$folder/lines.json"
