#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs a command in a root of another processor's Debian: inside.sh QEMU ROOT COMMAND ARGUMENT...
# In namespaces of its own the kernel starts each program for AArch64 by QEMU, children too; the system's own rules stay as
# they are. Needs binfmt_misc in a user's namespace (Linux 6.7). All processes end with the command.
set -eu

exec unshare --user --map-root-user --mount --pid --fork --kill-child sh -euc '
  head=":aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
  mask=":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
  qemu=$0 root=$1
  shift
  mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
  printf "%s" "$head$mask:$qemu:FP" >/proc/sys/fs/binfmt_misc/register
  mount -t proc none "$root/proc"
  mount --rbind /dev "$root/dev"
  exec chroot "$root" "$@"' "$@"
