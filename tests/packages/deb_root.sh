#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs build/deb by apt, from a folder as repository, in a fresh root of Debian 12, and runs debian/tests there:
#   make deb-root
# debootstrap makes the root once, from the mirror of this system's apt, in build/roots; each run works on a copy that
# is thrown away. Not in CI: the first run takes minutes and 300 MB. Only root may make a root.
# deb_inside.sh runs inside the root.
set -euo pipefail

cd "$(dirname "$0")/../.."
. tests/debian_root.sh
base=$roots/bookworm
root=$base-deb
compgen -G 'build/deb/*.deb' >/dev/null || { say "there is no build/deb/*.deb: make deb"; exit 2; }

# The packages and their index; the tests as in the source package.
fill() {
  mkdir -p "$root/repository" "$root/source/debian" "$root/source/tests"
  cp build/deb/*.deb "$root/repository/"
  (cd "$root/repository" && dpkg-scanpackages --multiversion . >Packages 2>/dev/null)
  echo "deb [trusted=yes] file:/repository ./" >"$root/etc/apt/sources.list.d/hakmem.list"
  cp -r packaging/debian/tests "$root/source/debian/"
  cp -r tests/consumer "$root/source/tests/"
  cp tests/packages/deb_inside.sh "$root/source/"
}

ensure_root bookworm "$base"
trap 'rm -rf "$root"' EXIT
copy_root "$base" "$root"
fill
inside "$root" bash /source/deb_inside.sh
