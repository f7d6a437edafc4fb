#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs build/rpm by rpm into an empty root, and runs programs on the library of the root: make rpm-root
# The empty root has no libc and no interpreter, so rpm runs with --nodeps and the programs are this system's; the
# preloaded library and the command that starts the programs lie in the root. Not in CI, as rpm is needed; takes
# seconds.
set -euo pipefail

cd "$(dirname "$0")/../.."
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0

check() {
  local what=$1
  shift
  if "$@" >"$root.said" 2>&1; then
    echo "passed: $what"
  else
    failed=$((failed + 1))
    echo "FAILED: $what: status $?"
    tail -n 20 "$root.said"
  fi
  rm -f "$root.said"
}

says() { local wanted=$1; shift; [ "$("$@")" = "$wanted" ]; }
by_root() { rpm --root "$root" --dbpath /var/lib/rpm "$@"; }

mapfile -t packages < <(compgen -G 'build/rpm/RPMS/*/*.rpm')
[ ${#packages[@]} -gt 0 ] || { echo "rpm_root: there is no build/rpm/RPMS: make rpm" >&2; exit 2; }
served=$PWD/packaging/debian/tests/served.py
hakmem=$root/usr/bin/hakmem

check "rpm makes a database in an empty root" by_root --initdb
check "rpm installs ${#packages[@]} packages" by_root -i --nodeps "${packages[@]}"
check "each file is as it was packed" by_root -V --nodeps libhakmem libhakmem-devel hakmem
check "served from there, by LD_PRELOAD" says "served by HAKMEM" env LD_PRELOAD="$root/usr/lib64/libhakmem.so.0" python3 "$served"
check "its command, from there" says "served by HAKMEM" "$hakmem" exec -- python3 "$served"
check "its path is the root's" says "$root/usr/lib/hakmem/libhakmem.so" "$hakmem" path
check "a setting that is none is refused" sh -c '! "$0" exec --set price=dear -- true 2>/dev/null' "$hakmem"
check "run, with proof" sh -c '"$0" run --runs 1 -- perl -e "print 42" 2>&1 | grep "served by HAKMEM"' "$hakmem"
check "a program that is built on it" sh -c 'cc -DMALLOC_IS_HAKMEM=1 tests/consumer/project/consumer.c -o "$0/consumer" \
  -I"$0/usr/include" -L"$0/usr/lib64" -lhakmem && LD_LIBRARY_PATH=$0/usr/lib64 "$0/consumer"' "$root"
check "all are removed" by_root -e --nodeps libhakmem libhakmem-devel hakmem
check "nothing of them stays" sh -c '! find "$0/usr" -name "*hakmem*" ! -type d 2>/dev/null | grep .' "$root"
echo "$failed failed"
[ "$failed" -eq 0 ]
