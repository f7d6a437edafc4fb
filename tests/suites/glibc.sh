#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds glibc's tests of malloc, unless they are there, and runs them: glibc.sh FOLDER PYTHON
set -euo pipefail

here=$(dirname "$0")
"$here/build_glibc.sh" "$1"
exec "$2" "$here/glibc_test.py" -v
