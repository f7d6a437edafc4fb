#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# moved.sh PROGRAM LIBRARY: settings where the environment has moved (moved.c). A program with raised rights ignores its
# user's; without root that is not tried.
set -eu
program=$1 library=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"

expect() { [ "$1" = "$2" ] || { echo "moved: '$1' instead of '$2'"; exit 1; }; }

export HAKMEM_PROFILE_TABLE="$folder/table"
expect "$("$program" "$library" heap)" "[$folder/table]"
expect "$("$program" "$library" stack)" "[]"
[ "$(id -u)" -eq 0 ] || exit 0
[ "$(head -c 2 "$program")" != '#!' ] || exit 0 # under an emulator: scripts gain no rights
cp "$program" "$folder/raised"
cp "$library" "$folder/library.so"
chown 65534 "$folder/raised"
chmod 4755 "$folder/raised"
expect "$(setpriv --reuid=1000 --clear-groups "$folder/raised" "$folder/library.so" heap)" "[]"
