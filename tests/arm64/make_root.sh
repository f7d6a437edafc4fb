#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# A root of Debian for arm64 with the programs that programs_test.py runs, and a static qemu-user: make_root.sh FOLDER
# The packages are unpacked, none of their scripts runs, and this system's packages and lists are left alone. The mirror
# and the release are those of the system's apt. FOLDER/made is the last file written: a complete root stays as it is.
#   FOLDER/root       the root, with folders bin, sbin and lib merged into usr
#   FOLDER/qemu       qemu-aarch64-static
set -euo pipefail

[ ! -e "$1/made" ] || exit 0
mkdir -p "$1"/apt/{lists/partial,cache/archives/partial} "$1"/root/usr/{bin,sbin,lib} "$1"/root/{proc,dev,tmp,root}
cd "$1"
packages=(libc6 libc-bin base-files coreutils dash bash sed grep findutils diffutils tar gzip perl lua5.4 sqlite3 python3 jq
  libxml2-utils gawk git redis-server redis-tools ruby php8.2-cli gcc libc6-dev)

say() { echo "make_root: $*" >&2; }

# Of the system's sources those of Debian, for arm64.
sources() {
  local keys=/usr/share/keyrings/debian-archive-keyring.gpg signed=''
  [ ! -e "$keys" ] || signed=" signed-by=$keys"
  apt-get indextargets --format "deb [arch=arm64$signed] \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
    'Created-By: Packages' 'Origin: Debian' | sort -u
}

apt() { apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::Etc::SourceList="$PWD/apt/sources" \
  -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$PWD/apt/lists" -o Dir::State::status="$PWD/apt/status" \
  -o Dir::Cache="$PWD/apt/cache" -o APT::Sandbox::User=root "$@"; }

unpack() {
  local package
  for package in apt/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink --no-same-owner -C root
  done
}

say "making $PWD/root (once; minutes, and 130 MB of downloads)"
touch apt/status
sources >apt/sources
[ -s apt/sources ] || { say "this system's apt knows no mirror of Debian"; exit 1; }
apt update
apt --yes --no-install-recommends --download-only install "${packages[@]}" >apt/log
for folder in bin sbin lib; do ln -sfn "usr/$folder" "root/$folder"; done
unpack
echo 'root:x:0:0:root:/root:/bin/sh' >root/etc/passwd
echo 'root:x:0:' >root/etc/group
(cd apt && apt-get -qq -o APT::Sandbox::User=root download qemu-user-static && dpkg-deb -x qemu-user-static_*.deb qemu)
cp apt/qemu/usr/bin/qemu-aarch64-static qemu
rm -rf apt/cache apt/qemu
touch made
