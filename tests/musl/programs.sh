#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds the programs that are missing, and runs them: programs.sh MUSL-BUILD FOLDER PYTHON
set -euo pipefail

here=$(dirname "$0")
"$here/build_programs.sh" "$1" "$2"
exec "$3" "$here/programs_test.py" -v
