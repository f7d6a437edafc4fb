#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Passes if the output of a program is the same on the library and on glibc: same_as_glibc.sh LIBRARY PROGRAM
# [ARGUMENT...]
set -euo pipefail

library=$1
shift
diff --label glibc <("$@") --label hakmem <(LD_PRELOAD=$library "$@")
