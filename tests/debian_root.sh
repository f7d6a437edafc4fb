# SPDX-License-Identifier: MIT OR Apache-2.0
# Roots of Debian for tests that need an empty system, by debootstrap, from the mirror of this system's apt; to be
# sourced.
#   ensure_root RELEASE FOLDER [PACKAGES]     a complete root in FOLDER, or none; made once, in minutes
#   ensure_foreign_root RELEASE FOLDER        the same for AArch64 (arm64), in tests/foreign.sh's namespace; some 15 minutes
#   copy_root FOLDER COPY                     a copy to change and throw away
#   inside FOLDER COMMAND...                  with a clean environment and a separate /proc
#   inside_foreign FOLDER COMMAND...          the same for AArch64, under qemu-user
# Status 2: roots are impossible here, as only root may make a root and change into the root.

roots=$PWD/build/roots

say() { echo "$(basename "$0" .sh): $*" >&2; }

[ "$(id -u)" -eq 0 ] || { say "only root can make a root and change into it"; exit 2; }
command -v apt-get >/dev/null || { say "this needs apt, which knows a mirror of Debian"; exit 2; }

mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}

ensure_debootstrap() {
  command -v debootstrap >/dev/null || { apt-get -qq update && apt-get -qq -y install --no-install-recommends debootstrap; } >&2
}

ensure_root() {
  local release=$1 root=$2 packages=${3:-}
  [ ! -e "$root/made" ] || return 0
  ensure_debootstrap
  say "making $root (once; minutes)"
  rm -rf "$root"
  mkdir -p "$root"
  if ! debootstrap --variant=minbase ${packages:+--include="$packages"} "$release" "$root" "$(mirror)" >"$root.log" 2>&1; then
    say "no $release: $(grep -m 1 '^E:' "$root.log" || tail -n 1 "$root.log") (see $root.log)"
    return 1
  fi
  touch "$root/made"
}

# A copy of an empty root of Debian that starts no services and gets packages from this system's mirror.
copy_root() {
  local base=$1 root=$2
  rm -rf "$root"
  cp -a "$base" "$root"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 755 "$root/usr/sbin/policy-rc.d"
}

# Mounts are visible to this process only and end with the process.
inside() {
  unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec env -i LC_ALL=C.UTF-8 HOME=/root \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$0" "$@"' "$@"
}

# ---- AArch64 ----

# In a namespace of users /proc and /dev can only be shown as they are, with what is mounted in them.
inside_foreign() {
  tests/foreign.sh unshare --mount sh -c 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec env -i LC_ALL=C.UTF-8 \
    HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive container=lxc \
    chroot "$0" "$@"' "$@"
}

# The second half of debootstrap is the packages' own scripts. container=lxc: no devices are made. A root that is thrown
# away needs no file on the disk at once.
ensure_foreign_root() {
  local release=$1 root=$2
  [ ! -e "$root/made" ] || return 0
  ensure_debootstrap
  say "making $root (once; some 15 minutes, under an emulator)"
  rm -rf "$root"
  mkdir -p "$root"
  if ! debootstrap --arch=arm64 --foreign --variant=minbase "$release" "$root" "$(mirror)" >"$root.log" 2>&1 ||
    ! echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io" ||
    ! inside_foreign "$root" /debootstrap/debootstrap --second-stage >>"$root.log" 2>&1; then
    say "no $release: $(grep -m 1 '^E:' "$root.log" || tail -n 1 "$root.log") (see $root.log)"
    return 1
  fi
  touch "$root/made"
}
