#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs the wheels in the root of an older Debian and runs programs on HAKMEM there: old_root.sh NAME...
#   make wheel-old-root [ROOTS=bullseye]
# debootstrap makes the roots once, from the mirror of this system's apt, in build/roots (270 MB each). Not in CI: the
# first run takes minutes. Only root may make a root. in_root.sh runs inside.
set -euo pipefail

cd "$(dirname "$0")/../.."
. tests/debian_root.sh
[ $# -gt 0 ] || { say "name a release: bullseye"; exit 2; }

install_and_run() {
  local root=$roots/$1-old
  copy_root "$roots/$1" "$root"
  mkdir "$root/wheels"
  cp build/wheels/*.whl tests/wheel/in_root.sh "$root/wheels/"
  local failed=0
  inside "$root" bash /wheels/in_root.sh || failed=1
  rm -rf "$root"
  return $failed
}

status=0
for name; do
  { ensure_root "$name" "$roots/$name" python3,python3-venv && install_and_run "$name"; } || status=1
done
exit "$status"
