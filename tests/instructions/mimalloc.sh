#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# mimalloc 2 and 3 for AArch64, of the crate that bench/peers/mimalloc names: mimalloc.sh COMPILER FOLDER
# FOLDER gets libmimalloc-VERSION.so of each, and nothing where they are complete. The flags are those that mimalloc's own
# CMake file takes for such a release (its file cannot be used: the crate leaves a part of it out).
set -euo pipefail

compiler=$1
folder=$2
flags=(-shared -fPIC -O3 -DNDEBUG -DMI_BUILD_RELEASE -DMI_MALLOC_OVERRIDE -DMI_SHARED_LIB -DMI_SHARED_LIB_EXPORT
  -fvisibility=hidden -fno-builtin-malloc -ftls-model=initial-exec -march=armv8.1-a -pthread)

command -v cargo >/dev/null || { echo "mimalloc: cargo is missing, which fetches the sources" >&2; exit 1; }
manifest=$(cargo metadata --quiet --locked --format-version 1 --manifest-path bench/peers/Cargo.toml |
  grep -o '"manifest_path":"[^"]*/libmimalloc-sys-[^"]*"' | cut -d '"' -f 4)
mkdir -p "$folder"
for sources in "$(dirname "$manifest")"/c_src/mimalloc/*/; do
  number=$(sed -n 's/^#define MI_MALLOC_VERSION *\([0-9]*\).*/\1/p' "$sources/include/mimalloc.h")
  library=$folder/libmimalloc-$((number / 10000)).$((number / 100 % 100)).$((number % 100)).so
  [ ! -e "$library" ] || continue
  "$compiler" "${flags[@]}" -I "$sources/include" -I "$sources/src" -o "$library.new" "$sources/src/static.c"
  mv "$library.new" "$library"
done
