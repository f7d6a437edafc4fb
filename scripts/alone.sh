#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs a command that writes in build/, or reads files that a second command writes there, alone: alone.sh NAME
# COMMAND... Commands of the same NAME wait for each other.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/lock.sh"
name=$1
shift
hold "$name" "$name: build/$name.lock"
exec "$@"
