#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# glibc's tests of malloc, from Debian's source of the C library: build_glibc.sh FOLDER puts them in FOLDER/bin, in a
# minute. They are compiled as they are, with glibc's own support library, against the system's C library.
# Left out: what a C library tests of its inside (alloc_buffer, dynarray, scratch_buffer, compathooks, mallocstate),
# programs that bring a malloc of their own (interpose), and mtrace, whose hooks are glibc's.
set -euo pipefail

sources=$(realpath "$(dirname "$0")/../debian_sources.sh")
mkdir -p "$1/bin" "$1/objects" "$1/headers"
folder=$(realpath "$1")
log=$folder/log
cd "$folder"
. "$sources"
left_out='alloc_buffer|compathooks|dynarray|interpose|mallocstate|mtrace|scratch_buffer'
headers=(include/{libc-diag,array_length,intprops,libc-pointer-arith}.h sysdeps/generic/malloc-{size,alignment}.h)
flags=(-O2 -w -std=gnu11 -D_GNU_SOURCE -DMODULE_NAME=testsuite -DTIMEOUTFACTOR=8 -include limits.h)
for name in SRCDIR OBJDIR OBJDIR_ELF_LDSO INSTDIR LIBDIR BINDIR SBINDIR ROOTSBINDIR COMPLOCALEDIR SYSCONFDIR SLIBDIR; do
  flags+=("-D${name}_PATH=\"/\"")
done

# Some parts of the support library need glibc's private headers; no test of malloc needs these parts.
compile_support() {
  local file
  for file in support/*.c; do
    gcc -c "${flags[@]}" "$file" -o "$folder/objects/$(basename "$file" .c).o" 2>>"$log" || true
  done
  ar rcs "$folder/objects/libsupport.a" "$folder"/objects/*.o
}

compile_tests() {
  local file name
  for file in malloc/mallocbug.c malloc/tst-*.c; do
    name=$(basename "$file" .c)
    if [[ $name =~ $left_out ]]; then continue; fi
    if ! gcc "${flags[@]}" "$file" -o "$folder/bin/$name" "$folder/objects/libsupport.a" -lpthread -ldl 2>>"$log"; then
      echo "build_glibc: $name does not compile (see $log)" >&2
      return 1
    fi
  done
}

[ ! -e made ] || exit 0
fetch glibc >>"$log" 2>&1 || { echo "build_glibc: no source of glibc; the end of $log:" >&2; tail -n 3 "$log" >&2; exit 1; }
cd glibc
cp "${headers[@]}" "$folder/headers"
ln -sfn "$PWD"/{malloc,support,test-skeleton.c} "$folder/headers" # no others: glibc's own bits/ is for its build
flags+=(-I "$folder/headers" -I "$PWD/support")
compile_support
compile_tests
touch "$folder/made"
