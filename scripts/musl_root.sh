#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Prints a folder with musl's dynamic linker for another processor, in which qemu-user finds the linker (-L): musl_root.sh MACHINE
# The folder, build/musl-root/MACHINE, is made once, out of Debian's package musl (0.4 MB and 9 MB of apt's lists). apt
# keeps the lists apart: the system gets no second architecture.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lock.sh
machine=$1
case $machine in
  aarch64) architecture=arm64 ;;
  x86_64) architecture=amd64 ;;
  *) echo "musl_root.sh: expected aarch64 or x86_64, got '$machine'" >&2; exit 2 ;;
esac
root=$PWD/build/musl-root/$machine
apt=$PWD/build/musl-root/apt-$architecture

apt_get() {
  apt-get -qq -o APT::Architectures="$architecture" -o APT::Architecture="$architecture" -o APT::Sandbox::User=root \
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o Dir::State::status=/dev/null "$@" >&2
}

if [ ! -e "$root/lib/ld-musl-$machine.so.1" ]; then
  hold musl-root "musl_root.sh: $root"
  echo "musl_root.sh: making $root (once)" >&2
  rm -rf "$apt" "$root"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  apt_get update
  (cd "$apt" && apt_get download musl)
  dpkg-deb -x "$apt"/musl_*.deb "$apt/root"
  mv "$apt/root" "$root"
  rm -rf "$apt"
fi
echo "$root"
