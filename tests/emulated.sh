#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Puts a program of another processor behind a file that the kernel can start: emulated.sh EMULATE 'EMULATOR ...' PROGRAM
# The program becomes PROGRAM.elf (emulate.c).
set -eu

mv -f "$3" "$3.elf"
printf '#!%s %s\n' "$1" "$2" >"$3.new"
chmod 755 "$3.new"
mv -f "$3.new" "$3"
