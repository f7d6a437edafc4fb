#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Real programs for musl: busybox, lua, sqlite3, jq and redis from Debian's sources, unpatched, by musl-gcc; minutes.
#   build_programs.sh MUSL-BUILD FOLDER     the preset's build folder (build/musl); FOLDER/bin gets the programs, dynamic,
#                                           and lua and busybox linked statically with libhakmem-override.a (NAME-static)
# Complete ones stay as they are. The system's apt names the mirror; its own lists are left alone.
set -euo pipefail

sources=$(realpath "$(dirname "$0")/../debian_sources.sh")
build=$(realpath "$1")
mkdir -p "$2/bin" "$2/sources"
folder=$(realpath "$2")
log=$folder/log
cd "$folder/sources"
own=(-I "$build/kernel-headers")
jobs=$(nproc)
. "$sources"

say() { echo "build_programs: $*" >&2; }

# built NAME: the program, unless it is there.
built() {
  [ ! -x "$folder/bin/$1" ] || return 0
  say "building $1"
  if ! (set -e; "build_$1") >>"$log" 2>&1; then
    say "$1 failed; the end of $log:"
    tail -n 20 "$log" >&2
    return 1
  fi
}

# The objects, which both programs are linked from.
compile_lua() {
  fetch lua5.4
  (cd lua5.4/src && rm -f luac.c && musl-gcc -c -O2 -DLUA_USE_POSIX -DLUA_USE_DLOPEN ./*.c)
}

build_lua() {
  compile_lua
  musl-gcc -o "$folder/bin/lua" lua5.4/src/*.o -lm
}

build_lua-static() {
  compile_lua
  musl-gcc -static -Wl,--undefined=malloc -o "$folder/bin/lua-static" lua5.4/src/*.o "$build/libhakmem-override.a" -lm
}

build_sqlite3() {
  fetch sqlite3
  (cd sqlite3 && ./configure CC="musl-gcc" BUILD_CC=gcc --disable-tcl --disable-readline --disable-amalgamation &&
    make -j"$jobs" sqlite3.c shell.c)
  musl-gcc -O2 -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_MATH_FUNCTIONS -I sqlite3 -o "$folder/bin/sqlite3" \
    sqlite3/shell.c sqlite3/sqlite3.c -lm
}

# Debian's archive has no configure: by hand, without regular expressions (oniguruma).
build_jq() {
  fetch jq
  cd jq/src # in a subshell (built)
  sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/' builtin.jq >builtin.inc
  echo '#define JQ_VERSION "1.6"' >version.h
  rm -f inject_errors.c
  musl-gcc -O2 -w -D_GNU_SOURCE -DIEEE_8087 -DHAVE_ISATTY -DHAVE_STRPTIME -DHAVE_TIMEGM -DHAVE_GMTIME_R -DHAVE_FLOOR \
    -DHAVE_SQRT -DHAVE_POW -I .. -o "$folder/bin/jq" ./*.c -lm
}

build_redis() {
  fetch redis
  make -C redis/src -j"$jobs" CC=musl-gcc MALLOC=libc USE_SYSTEMD=no BUILD_TLS=no OPTIMIZATION=-O2 \
    redis-server redis-cli redis-benchmark
  cp redis/src/redis-cli redis/src/redis-benchmark "$folder/bin/"
  cp redis/src/redis-server "$folder/bin/redis"
}

configure_busybox() {
  make -C busybox defconfig
  sed -i 's/^CONFIG_TC=y/# CONFIG_TC is not set/; s/^CONFIG_FEATURE_\(UTMP\|WTMP\)=y/# CONFIG_FEATURE_\1 is not set/' busybox/.config
}

build_busybox() {
  fetch busybox
  configure_busybox
  make -C busybox -j"$jobs" CC=musl-gcc CONFIG_EXTRA_CFLAGS="${own[*]}" SKIP_STRIP=y
  cp busybox/busybox "$folder/bin/busybox"
}

failed=0
for name in ${PROGRAMS:-lua lua-static busybox sqlite3 jq redis}; do built "$name" || failed=1; done
exit $failed
