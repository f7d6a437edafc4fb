#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs build/deb by apt, from a folder as repository, in a fresh root of Debian 12, and runs debian/tests there:
#   make deb-root
#   make deb-root ARCH=arm64     build/deb-arm64, in a root of AArch64 under qemu-user (tests/foreign.sh)
# debootstrap makes the root once, from the mirror of this system's apt, in build/roots; each run works on a copy that
# is thrown away. Not in CI: the first run takes minutes and 300 MB. Only root may make a root.
# deb_inside.sh runs inside the root.
set -euo pipefail

cd "$(dirname "$0")/../.."
. tests/debian_root.sh
arch=${1:-}
base=$roots/bookworm${arch:+-$arch}
root=$base-deb
built=build/deb${arch:+-$arch}
case $arch in '' | arm64) ;; *) say "expected nothing or arm64, got '$arch'"; exit 2 ;; esac
compgen -G "$built/*.deb" >/dev/null || { say "there is no $built/*.deb: make deb${arch:+ ARCH=$arch}"; exit 2; }

# The packages and their index; the tests as in the source package.
fill() {
  mkdir -p "$root/repository" "$root/source/debian" "$root/source/tests"
  cp "$built"/*.deb "$root/repository/"
  (cd "$root/repository" && dpkg-scanpackages --multiversion . >Packages 2>/dev/null)
  echo "deb [trusted=yes] file:/repository ./" >"$root/etc/apt/sources.list.d/hakmem.list"
  cp -r packaging/debian/tests "$root/source/debian/"
  cp -r tests/consumer "$root/source/tests/"
  cp tests/packages/deb_inside.sh "$root/source/"
}

if [ -n "$arch" ]; then ensure_foreign_root bookworm "$base"; else ensure_root bookworm "$base"; fi
trap 'rm -rf "$root"' EXIT
copy_root "$base" "$root"
fill
if [ -n "$arch" ]; then
  inside_foreign "$root" bash /source/deb_inside.sh
else
  inside "$root" bash /source/deb_inside.sh
fi
