#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs every case of a GoogleTest program in a separate process: each_case.sh PROGRAM
set -uo pipefail

program=$1
failed=0
suite=
count=0

# The list is read without the library under test: the environment is for the cases.
list=$(env -u LD_PRELOAD "$program" --gtest_list_tests) || exit 1
while IFS= read -r line; do
  line=${line%%#*}
  name=${line//[[:space:]]/}
  case $line in
    "Running main"*) ;;
    "  "*)
      count=$((count + 1))
      "$program" --gtest_filter="$suite$name" --gtest_brief=1 </dev/null || { echo "failed: $suite$name"; failed=$((failed + 1)); } ;;
    *) suite=$name ;;
  esac
done <<<"$list"

echo "$count cases, $failed failed"
[ "$count" -gt 0 ] && [ "$failed" -eq 0 ]
