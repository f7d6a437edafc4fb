#!/usr/bin/env bash
# Gets ready what the project needs and is silent when nothing is missing:
#   1. the Debian packages of scripts/packages.txt: installed by apt-get when root, else named and the run stops
#   2. build/venv: a Python environment with the command `hakmem` and its pinned requirements
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/build/venv

say() { echo "setup: $*" >&2; }

wanted_packages() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$root/scripts/packages.txt"; }

# The wanted packages that are not installed, one a line.
missing_packages() {
  comm -23 <(wanted_packages | sort -u) \
    <(wanted_packages | xargs dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2>/dev/null |
      sed -n 's/^installed //p' | sort -u)
}

install_packages() {
  local packages=$1
  export DEBIAN_FRONTEND=noninteractive
  say "installing $packages"
  # shellcheck disable=SC2086  # one word per package
  { apt-get -qq update && apt-get -qq -y -o DPkg::Lock::Timeout=300 install --no-install-recommends $packages; } >&2
}

ensure_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "this system has no dpkg; what scripts/packages.txt lists must be there already"
    return
  fi
  local missing
  missing=$(missing_packages | paste -sd ' ')
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -eq 0 ]; then
    install_packages "$missing"
    return
  fi
  say "some Debian packages are missing; type this and run the command again:"
  echo "sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing" >&2
  exit 1
}

# The system's own interpreter: one found earlier on PATH may lack parts or be another version.
interpreter() { if [ -x /usr/bin/python3 ]; then echo /usr/bin/python3; else command -v python3; fi; }

# Changes when the interpreter, the requirements, or the place of the tree does.
environment_stamp() {
  { "$(interpreter)" --version; echo "$root"; cat "$root/python/pyproject.toml"; } | sha256sum | cut -d ' ' -f 1
}

ensure_environment() {
  local stamp
  stamp=$(environment_stamp)
  [ "$(cat "$venv/stamp" 2>/dev/null)" != "$stamp" ] || return 0
  say "making build/venv"
  rm -rf "$venv"
  mkdir -p "$root/build"
  "$(interpreter)" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$root/python" >&2
  echo "$stamp" >"$venv/stamp"
}

ensure_packages
ensure_environment
