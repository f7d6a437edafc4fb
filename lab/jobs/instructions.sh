#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Instructions of two programs of these jobs under callgrind: bare, on an allocator, and with its profiler. heaptrack's
# library records nothing under callgrind, and massif is a tool of valgrind itself: they are not in it.
# instructions.sh [LIBHAKMEM]
set -eu
jobs=$(cd "$(dirname "$0")" && pwd)
library=$(realpath "${1:-$jobs/../../build/release/libhakmem.so}")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
g++ -O2 -g -o keys "$jobs/08-hot-temporary/keys.cpp"
g++ -O2 -g -pthread -o leak "$jobs/01-leak-threads/leak.cpp"

counted() { # counted LABEL PROGRAM VARIABLE...
  label=$1 program=$2
  shift 2
  env "$@" valgrind -q --tool=callgrind --callgrind-out-file=out "./$program" >said 2>&1
  printf '%s %s %s\n' "$program" "$label" "$(sed -n 's/^\(summary\|totals\): *//p' out | head -n 1)"
}

for program in keys leak; do
  counted bare "$program" A=
  counted hakmem "$program" LD_PRELOAD="$library"
  counted hakmem-profile "$program" LD_PRELOAD="$library" HAKMEM_PROFILE_TABLE="$folder/table" HAKMEM_PROFILE_BYTES=65536
  counted jemalloc "$program" LD_PRELOAD=libjemalloc.so.2
  counted jemalloc-profile "$program" LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=prof:true,lg_prof_sample:16,prof_accum:true
  counted tcmalloc "$program" LD_PRELOAD=libtcmalloc.so.4
done
counted tcmalloc-profile keys LD_PRELOAD=libtcmalloc.so.4 HEAPPROFILE="$folder/gp"
