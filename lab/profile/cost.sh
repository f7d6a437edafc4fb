#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Instructions under callgrind of nine programs on HAKMEM, without and with its profile at the default rate: what the
# profile adds, the requests by its estimate, its stacks. A second library's columns follow. Each profile must hold
# stacks, else no call was served, and the script ends.
# cost.sh [-p NAME,...] LIBHAKMEM [LIBHAKMEM]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
names=python-malloc,python,cc1,cc1plus,perl,lua,sqlite3,ghostscript,z3
if [ "${1:-}" = -p ]; then names=$2; shift 2; fi
[ $# -ge 1 ] || { echo "usage: cost.sh [-p NAME,...] LIBHAKMEM [LIBHAKMEM]" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

program() { # program NAME: prints its command
  case $1 in
    python|python-malloc) echo "/usr/bin/python3 -S $here/json_lines.py" ;;
    cc1) echo "$(gcc -print-prog-name=cc1) -quiet -O2 -o /dev/null $folder/unit.i" ;;
    cc1plus) echo "$(gcc -print-prog-name=cc1plus) -quiet -O1 -o /dev/null $folder/unit.ii" ;;
    perl) echo "perl $here/words.pl" ;;
    lua) echo "lua $here/tables.lua" ;;
    sqlite3) echo "sqlite3 -bail -init $here/rows.sql :memory: .exit" ;;
    ghostscript) echo "gs -q -dNOPAUSE -dBATCH -sDEVICE=nullpage $here/pages.ps" ;;
    z3) echo "z3 $here/queens.smt2" ;;
    *) echo "cost.sh: no program $1" >&2; exit 2 ;;
  esac
}

counted() { # counted NAME LIBRARY VARIABLE...: instructions, in millions
  name=$1 library=$2
  shift 2
  case $name in python-malloc) set -- "$@" PYTHONMALLOC=malloc ;; esac
  env "$@" LD_PRELOAD="$library" PYTHONHASHSEED=0 PERL_HASH_SEED=0 \
    valgrind -q --tool=callgrind --callgrind-out-file="$folder/out" $(program "$name") >"$folder/said" 2>&1 ||
    { cat "$folder/said" >&2; exit 1; }
  sed -n 's/^\(summary\|totals\): *//p' "$folder/out" | head -n 1 | awk '{ printf "%.1f", $1 / 1e6 }'
}

seen() { # of the profile written last: requests by its estimate [thousand], stacks
  "$here/../../build/venv/bin/python" - "$folder" <<'P'
import pathlib, sys
from hakmem.reading import table_file
blocks = stacks = 0.0
for file in pathlib.Path(sys.argv[1]).glob("table.*"):
    table = table_file.table_of(file.read_bytes())
    blocks += sum(stack.taken[0] for stack in table.stacks.values())
    stacks += len(table.stacks)
    file.unlink()
print(f"{blocks / 1000:.0f} {stacks:.0f}")
P
}

case $names in *cc1*)
  gcc -E -o "$folder/unit.i" "$here/unit.c"
  g++ -E -o "$folder/unit.ii" "$here/unit.cpp" ;;
esac
echo "program: off[M] on[M] added requests[k] stacks"
for name in $(echo "$names" | tr , ' '); do
  row=$name:
  for library in "$@"; do
    off=$(counted "$name" "$library" A=)
    on=$(counted "$name" "$library" HAKMEM_PROFILE_TABLE="$folder/table")
    count=$(seen)
    [ "${count#* }" -gt 0 ] || { echo "cost.sh: $name: no sample" >&2; exit 1; }
    row="$row  $off $on $(awk -v a="$off" -v b="$on" 'BEGIN { printf "+%.2f%%", 100 * (b / a - 1) }') $count"
  done
  echo "$row"
done
