#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs into a temporary folder and uses the installation by find_package and by pkg-config: check.sh SOURCES VERSION
set -euo pipefail

sources=$1
version=$2
project=$(cd "$(dirname "$0")" && pwd)/project
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
prefix=$stage/opt/hakmem

step() { echo "-- $*"; }

step "make install"
env -u MAKEFLAGS -u MAKELEVEL make -s -C "$sources" install DESTDIR="$stage" PREFIX=/opt/hakmem >"$stage/install.log"
for file in include/hakmem/hakmem.h include/hakmem/experimental.h lib/libhakmem.so lib/libhakmem.a lib/libhakmem-override.a lib/libhakmem-dl.so lib/libhakmem-secure.so.0 \
  lib/pkgconfig/hakmem.pc lib/pkgconfig/hakmem-secure.pc lib/cmake/hakmem/hakmemConfig.cmake lib/cmake/hakmem/hakmemConfigVersion.cmake \
  share/man/man1/hakmem.1 share/man/man3/hakmem.3 share/man/man7/hakmem-settings.7 \
  share/bash-completion/completions/hakmem share/zsh/site-functions/_hakmem \
  share/fish/vendor_completions.d/hakmem.fish share/doc/hakmem/LICENSE-MIT share/doc/hakmem/LICENSE-APACHE; do
  [ -e "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done

step "find_package, C only"
cmake -S "$project" -B "$stage/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DHAKMEM_VERSION="$version" >"$stage/log" ||
  { cat "$stage/log"; exit 1; }
cmake --build "$stage/build" >"$stage/log" || { cat "$stage/log"; exit 1; }
for program in linked static override secure loaded; do
  "$stage/build/$program"
done

step "find_package, C++ and fully static programs"
cmake -S "$project/cxx" -B "$stage/cxx" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$stage/log" || { cat "$stage/log"; exit 1; }
cmake --build "$stage/cxx" >"$stage/log" || { cat "$stage/log"; exit 1; }
for program in linked override override_nothing_shared; do
  "$stage/cxx/$program"
done

step "pkg-config"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
for name in hakmem hakmem-secure; do
  [ "$(pkg-config --modversion "$name")" = "$version" ]
  # shellcheck disable=SC2046  # flags are words
  cc -DMALLOC_IS_HAKMEM=1 "$project/consumer.c" -o "$stage/by-pkg-config" $(pkg-config --cflags --libs "$name")
  LD_LIBRARY_PATH=$prefix/lib "$stage/by-pkg-config"
  readelf -d "$stage/by-pkg-config" | grep -q "NEEDED.*\[lib$name.so.0\]"
done

step "libhakmem.so and libhakmem-secure.so need no C++ library"
for name in hakmem hakmem-secure; do
  if objdump -p "$prefix/lib/lib$name.so" | grep -E 'NEEDED.*(stdc|gcc_s)'; then exit 1; fi
done

echo "the installed tree serves every consumer"
