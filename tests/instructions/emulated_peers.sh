#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds mimalloc where it is missing, and counts: emulated_peers.sh PYTHON COMPILER FOLDER ARGUMENT-OF-emulated_peers.py...
set -euo pipefail

here=$(dirname "$0")
python=$1
"$here/mimalloc.sh" "$2" "$3"
exec "$python" -B "$here/emulated_peers.py" --peers "$3" "${@:4}"
