#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Makes the root if it is missing, and runs its programs: programs.sh FOLDER PYTHON TEST...
set -euo pipefail

here=$(dirname "$0")
"$here/make_root.sh" "$1" "$2"
for test in "${@:3}"; do HAK_TEST_ROOT=$1 "$2" "$here/$test" -v; done
