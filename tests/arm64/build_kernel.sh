#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds a kernel of AArch64 from Debian's source: build_kernel.sh ROOT CONFIG
# ROOT has usr/src/linux-source-*.tar.xz, and gets boot/vmlinuz and a list of what is built in, as Debian's package of a
# kernel has them. CONFIG is what allnoconfig is changed by; a line of CONFIG that the kernel refuses is an error.
set -euo pipefail

root=$(realpath "$1")
config=$(realpath "$2")
tools=(aarch64-linux-gnu-gcc make flex bison bc)
missing=()
for tool in "${tools[@]}"; do command -v "$tool" >/dev/null || missing+=("$tool"); done
if [ ${#missing[@]} -gt 0 ]; then
  echo "build_kernel: missing: ${missing[*]}; apt-get install gcc-aarch64-linux-gnu make flex bison bc" >&2
  exit 2
fi
# The kernel goes in last, so a build broken off is done again.
[ "$root/boot/vmlinuz" -nt "$config" ] && exit

source=$root/source
log=$root.make.log
echo "build_kernel: building $root/boot/vmlinuz (once; 10 minutes on 2 cores)" >&2
rm -rf "$source"
mkdir -p "$source" "$root/boot"
tar -xf "$root"/usr/src/linux-source-*.tar.xz -C "$source" --strip-components=1

kernel() { make -s -C "$source" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- -j"$(nproc)" "$@" >>"$log" 2>&1 || fail "$*"; }
fail() {
  echo "build_kernel: make $1 failed: $(grep -m 1 -E 'error|\*\*\*' "$log" || tail -n 1 "$log") (see $log)" >&2
  exit 1
}

: >"$log"
kernel KCONFIG_ALLCONFIG="$config" allnoconfig
refused=$(grep '^CONFIG_' "$config" | grep -vxFf "$source/.config" || true)
[ -z "$refused" ] || { echo "build_kernel: the kernel's own rules refuse: $(echo $refused)" >&2; exit 1; }
kernel Image modules
kernel INSTALL_MOD_PATH="$root/usr" modules_install
cp "$source/arch/arm64/boot/Image" "$root/boot/vmlinuz.new"
mv "$root/boot/vmlinuz.new" "$root/boot/vmlinuz"
rm -rf "$source"
