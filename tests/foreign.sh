#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs a command in a namespace in which programs of AArch64 run, each under qemu-user: foreign.sh COMMAND...
#
#   this system --unshare--> the same root, users and network; a table of formats (binfmt_misc) of its own --> COMMAND
#
# The system's table is neither read nor changed. Needs root's rights, Linux 6.7 (a table for each user namespace) and
# qemu-aarch64-static, which an empty root does not have to hold: the kernel keeps it open. Status 2: impossible here.
set -euo pipefail

formats=/proc/sys/fs/binfmt_misc
emulator=/usr/bin/qemu-aarch64-static
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'

impossible() { echo "foreign: $1" >&2; exit 2; }

# As root of the namespace: exec, now that users are mapped, gives its rights.
register() {
  mount -t binfmt_misc none "$formats" 2>/dev/null || impossible "no binfmt_misc in a namespace (Linux 6.7 and newer have it)"
  printf ':qemu-aarch64:M::%s:%s:%s:POCF' "$magic" "$mask" "$emulator" >"$formats/register"
}

# All users and groups, as they are.
map_users() {
  local kind outside
  outside=$(readlink /proc/self/ns/user)
  until [ "$(readlink "/proc/$1/ns/user")" != "$outside" ]; do
    kill -0 "$1" 2>/dev/null || impossible "no user namespace"
    sleep 0.02
  done
  for kind in uid gid; do echo "0 0 4294967295" >"/proc/$1/${kind}_map"; done
}

if [ "${1-}" = --inside ]; then
  shift
  register
  exec "$@"
fi
[ "$(id -u)" -eq 0 ] || impossible "only root can map all users"
[ -x "$emulator" ] || impossible "$emulator is missing: apt-get install --no-install-recommends qemu-user-static"
pipe=$(mktemp -u)
mkfifo -m 600 "$pipe"
trap 'rm -f "$pipe"' EXIT
unshare --user --mount sh -c 'read -r _ <"$0"; exec "$@"' "$pipe" "$0" --inside "$@" <&0 &
map_users $!
echo >"$pipe"
wait $!
