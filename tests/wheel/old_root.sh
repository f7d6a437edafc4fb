#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs the wheels in the root of an older Debian and runs programs there on HAKMEM: old_root.sh NAME...
#   make wheel-old-root [ROOTS=bullseye]
# Roots are made once by debootstrap, from the mirror that apt uses here, and stay in build/roots (270 MB each). Not in CI:
# the first time takes minutes. Only root may make them. in_root.sh is what runs inside.
set -euo pipefail

cd "$(dirname "$0")/../.."
here=$PWD/tests/wheel
roots=$PWD/build/roots

say() { echo "old_root: $*" >&2; }

[ "$(id -u)" -eq 0 ] || { say "only root can make a root and change into it"; exit 2; }
command -v apt-get >/dev/null || { say "this needs apt, which knows a mirror of Debian"; exit 2; }
[ $# -gt 0 ] || { say "name a release: bullseye"; exit 2; }

mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}

ensure_debootstrap() {
  command -v debootstrap >/dev/null || { apt-get -qq update && apt-get -qq -y install --no-install-recommends debootstrap; } >&2
}

# It is there as a whole or not at all.
ensure_root() {
  local root=$roots/$1
  [ ! -e "$root/made" ] || return 0
  ensure_debootstrap
  say "making $root (once; minutes)"
  rm -rf "$root"
  mkdir -p "$roots"
  if ! debootstrap --variant=minbase --include=python3,python3-venv "$1" "$root" "$(mirror)" >"$roots/$1.log" 2>&1; then
    say "no $1: $(grep -m 1 '^E:' "$roots/$1.log" || tail -n 1 "$roots/$1.log") (see build/roots/$1.log)"
    return 1
  fi
  touch "$root/made"
}

# Mounts are seen by this one process and gone with it.
run_inside() {
  local root=$roots/$1
  rm -rf "$root/wheels"
  mkdir -p "$root/wheels"
  cp build/wheels/*.whl "$here/in_root.sh" "$root/wheels/"
  unshare --mount sh -c 'mount -t proc proc "$1/proc" && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    LC_ALL=C.UTF-8 HOME=/root chroot "$1" bash /wheels/in_root.sh' sh "$root"
}

status=0
for name; do
  { ensure_root "$name" && run_inside "$name"; } || status=1
done
exit "$status"
