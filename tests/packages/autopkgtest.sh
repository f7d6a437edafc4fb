#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs debian/tests of build/deb by Debian's autopkgtest, in a fresh root of Debian 12:
#   make deb-tests
#   make deb-tests ARCH=arm64     build/deb-arm64, in a root of AArch64 under qemu-user (tests/foreign.sh)
# The root is that of deb_root.sh. The record of each test lies in build/autopkgtest[-arm64]. Not in CI, as the root
# takes minutes. Needs root and the package autopkgtest.
set -euo pipefail

cd "$(dirname "$0")/../.."
. tests/debian_root.sh
arch=${1:-}
base=$roots/bookworm${arch:+-$arch}
root=$base-autopkgtest
source=$base-source
built=build/deb${arch:+-$arch}
record=build/autopkgtest${arch:+-$arch}
case $arch in '' | arm64) ;; *) say "expected nothing or arm64, got '$arch'"; exit 2 ;; esac
compgen -G "$built/*.deb" >/dev/null || { say "there is no $built/*.deb: make deb${arch:+ ARCH=$arch}"; exit 2; }
command -v autopkgtest >/dev/null || { say "this needs autopkgtest: apt-get install --no-install-recommends autopkgtest"; exit 2; }

# The tools on the system's side run in the same namespace, where the kernel starts programs of AArch64 by an emulator.
foreign=()
[ -z "$arch" ] || foreign=(tests/foreign.sh)
if [ -n "$arch" ]; then ensure_foreign_root bookworm "$base"; else ensure_root bookworm "$base"; fi
trap 'rm -rf "$root" "$source"' EXIT
copy_root "$base" "$root"
# A cross build packs no source: of the source package the tests need these.
rm -rf "$record" "$source"
mkdir -p "$source/tests"
cp -r packaging/debian "$source/"
cp -r tests/consumer "$source/tests/"
# shellcheck disable=SC2016  # the inner shell's words
"${foreign[@]}" unshare --mount sh -c 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec "$@"' "$root" \
  autopkgtest --no-built-binaries --output-dir "$record" "$built"/*.deb "$source/" -- chroot "$root"
cat "$record/summary"
