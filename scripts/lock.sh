# SPDX-License-Identifier: MIT OR Apache-2.0
# To be sourced by scripts that write into the tree: two such scripts at once, of two makes in one checkout, would break
# each other's work. hold NAME WHAT waits for build/NAME.lock and keeps the lock until the script ends; WHAT is printed
# if the lock is taken. Without flock no lock is held.
# Programs that may leave a daemon are started with 9>&-, so that the daemon does not keep the lock.

hold() {
  command -v flock >/dev/null || return 0
  mkdir -p build
  exec 9>>"build/$1.lock"
  flock -n 9 && return
  echo "$2: another make is at it; waiting" >&2
  flock 9
}
