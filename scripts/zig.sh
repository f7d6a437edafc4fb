#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Prints the interpreter of an environment with ziglang, the C++ compiler for musl (cmake/musl-zig.cmake): build/zig, made
# once with pip (100 MB). HAK_ZIG, if set, is printed as it is.
set -euo pipefail

cd "$(dirname "$0")/.."
version=0.17.1
folder=$PWD/build/zig
if [ -z "${HAK_ZIG:-}" ] && [ "$(cat "$folder/stamp" 2>/dev/null)" != "$version" ]; then
  echo "zig: making build/zig (once; 100 MB)" >&2
  rm -rf "$folder"
  python3 -m venv "$folder" >&2
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "ziglang==$version" >&2
  echo "$version" >"$folder/stamp"
fi
echo "${HAK_ZIG:-$folder/bin/python}"
