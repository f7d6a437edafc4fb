#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs build/deb by apt, from a folder that is a repository, in a fresh root of Debian 12, and runs debian/tests there:
#   make deb-root
# The root is made once by debootstrap, from the mirror that apt uses here, and stays in build/roots; each run is on a copy
# of it that is thrown away. Not in CI: the first time takes minutes and 300 MB. Only root may make it.
# deb_inside.sh is what runs inside.
set -euo pipefail

cd "$(dirname "$0")/../.."
here=$PWD/tests/packages
release=bookworm
base=$PWD/build/roots/$release
root=$PWD/build/roots/$release-deb

say() { echo "deb_root: $*" >&2; }

[ "$(id -u)" -eq 0 ] || { say "only root can make a root and change into it"; exit 2; }
command -v apt-get >/dev/null || { say "this needs apt, which knows a mirror of Debian"; exit 2; }
compgen -G 'build/deb/*.deb' >/dev/null || { say "there is no build/deb/*.deb: make deb"; exit 2; }

mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}

# It is there as a whole or not at all.
ensure_base() {
  [ ! -e "$base/made" ] || return 0
  command -v debootstrap >/dev/null || { apt-get -qq update && apt-get -qq -y install --no-install-recommends debootstrap; } >&2
  say "making $base (once; minutes)"
  rm -rf "$base"
  mkdir -p "$base"
  if ! debootstrap --variant=minbase "$release" "$base" "$(mirror)" >"$base.log" 2>&1; then
    say "no $release: $(grep -m 1 '^E:' "$base.log" || tail -n 1 "$base.log") (see $base.log)"
    return 1
  fi
  touch "$base/made"
}

# The packages and an index of them; the tests as the source package has them.
fill() {
  rm -rf "$root"
  cp -a "$base" "$root"
  mkdir -p "$root/repository" "$root/source/debian"
  cp build/deb/*.deb "$root/repository/"
  (cd "$root/repository" && dpkg-scanpackages --multiversion . >Packages 2>/dev/null)
  echo "deb [trusted=yes] file:/repository ./" >"$root/etc/apt/sources.list.d/hakmem.list"
  cp -r packaging/debian/tests "$root/source/debian/"
  mkdir -p "$root/source/tests"
  cp -r tests/consumer "$root/source/tests/"
  cp "$here/deb_inside.sh" "$root/source/"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 755 "$root/usr/sbin/policy-rc.d"
}

ensure_base
fill
trap 'rm -rf "$root"' EXIT
# Mounts are seen by this one process and gone with it.
unshare --mount sh -c 'mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" && exec env -i \
  PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive \
  chroot "$1" bash /source/deb_inside.sh' sh "$root"
