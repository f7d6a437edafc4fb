#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs a command that makes something in build/, or reads what another makes there, alone: alone.sh NAME COMMAND...
# Those of one NAME wait for each other.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/lock.sh"
name=$1
shift
hold "$name" "$name: build/$name.lock"
exec "$@"
