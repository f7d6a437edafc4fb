#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# A root of Debian for arm64 with the programs that programs_test.py runs and what the command `hakmem` requires, programs
# of processors that HAKMEM is not made for, and a static qemu-user: make_root.sh FOLDER PYTHON
# The packages are unpacked, none of their scripts runs, and this system's packages and lists are left alone. The mirror
# and the release are those of the system's apt. FOLDER/made is the last file written: a complete root stays as it is.
#   FOLDER/root       the root, with folders bin, sbin and lib merged into usr; opt/foreign/hello-ARCHITECTURE
#   FOLDER/qemu       qemu-aarch64-static
set -euo pipefail

[ ! -e "$1/made" ] || exit 0
project=$PWD/cli/pyproject.toml
python=$2
mkdir -p "$1"/root/usr/{bin,sbin,lib} "$1"/root/{proc,dev,tmp,root,opt/foreign}
cd "$1"
packages=(libc6 libc-bin base-files coreutils dash bash sed grep findutils diffutils tar gzip perl lua5.4 sqlite3 python3 jq
  libxml2-utils gawk git redis-server redis-tools ruby php8.2-cli gcc libc6-dev)

say() { echo "make_root: $*" >&2; }

# Of the system's sources those of Debian, for one architecture.
sources() {
  local keys=/usr/share/keyrings/debian-archive-keyring.gpg signed=''
  [ ! -e "$keys" ] || signed=" signed-by=$keys"
  apt-get indextargets --format "deb [arch=$1$signed] \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
    'Created-By: Packages' 'Origin: Debian' | sort -u
}

# apt ARCHITECTURE COMMAND...: in the folder apt/ARCHITECTURE, whose lists are made first.
apt() {
  local at=$PWD/apt/$1
  local as=(apt-get -qq -o APT::Architecture="$1" -o APT::Architectures="$1" -o Dir::Etc::SourceList="$at/sources"
    -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$at/lists" -o Dir::State::status="$at/status"
    -o Dir::Cache="$at/cache" -o APT::Sandbox::User=root)
  if [ ! -e "$at/sources" ]; then
    mkdir -p "$at"/{lists/partial,cache/archives/partial}
    touch "$at/status"
    sources "$1" >"$at/sources"
    [ -s "$at/sources" ] || { say "this system's apt knows no mirror of Debian"; return 1; }
    "${as[@]}" update || say "not all lists of $1 are whole: the mirror is being renewed, or lacks some"
  fi
  (cd "$at" && "${as[@]}" "${@:2}")
}

unpack() {
  local package
  for package in apt/arm64/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink --no-same-owner -C root
  done
}

# One program of each that HAKMEM refuses: 32 bits, and big-endian.
foreign() {
  local architecture
  for architecture in armhf s390x; do
    apt "$architecture" download hello
    dpkg-deb -x apt/"$architecture"/hello_*.deb apt/"$architecture"/hello
    cp apt/"$architecture"/hello/usr/bin/hello "root/opt/foreign/hello-$architecture"
  done
}

requirements() {
  "$python" -c 'import sys, tomllib; print(*(r.split(";")[0] for r in tomllib.load(open(sys.argv[1], "rb"))["project"]["dependencies"]), sep="\n")' \
    "$project" >apt/requirements
  "$python" -m pip install --quiet --disable-pip-version-check --root-user-action ignore --only-binary :all: \
    --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 --python-version 3.11 \
    --target root/usr/local/lib/python3.11/dist-packages --requirement apt/requirements
}

say "making $PWD/root (once; minutes, and 130 MB of downloads)"
rm -rf apt
mkdir apt
apt arm64 --yes --no-install-recommends --download-only install "${packages[@]}" >apt/log
for folder in bin sbin lib; do ln -sfn "usr/$folder" "root/$folder"; done
unpack
echo 'root:x:0:0:root:/root:/bin/sh' >root/etc/passwd
echo 'root:x:0:' >root/etc/group
(cd apt && apt-get -qq -o APT::Sandbox::User=root download qemu-user-static && dpkg-deb -x qemu-user-static_*.deb qemu)
cp apt/qemu/usr/bin/qemu-aarch64-static qemu
foreign
requirements
rm -rf apt
touch made
