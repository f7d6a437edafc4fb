#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Prepares the project's requirements and is silent when nothing is missing:
#   1. the Debian packages of scripts/packages.txt: installed by apt-get when root, else named and the run stops
#   2. build/venv: a Python environment with the commands `hakmem` and `hakmem-lab` and their requirements, pinned
#   setup.sh run        only the packages of the group [run], and `hakmem` without requirements: run, exec, path, env
#   setup.sh programs   also the packages of scripts/programs.txt; a missing package is named, and the run goes on
#   setup.sh corpus     the same with scripts/corpus.txt; pareto, judge: with scripts/pareto.txt, scripts/judge.txt
# Services that come with a package are not started.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/build/venv
what=${1:-all}
policy=/usr/sbin/policy-rc.d
cd "$root"
. scripts/lock.sh

say() { echo "setup: $*" >&2; }

# The lists hold `package ...` or `case: package ...`; the output has one package a line. `setup.sh run` reads to the
# end of the group [run].
packages_of() {
  local end=''
  [ "$what" != run ] || end='/^\[all\]/Q'
  sed -e "$end" -e '/^\[/d' -e 's/#.*//' -e 's/^[^:]*://' "$root/scripts/$1" | tr -s '[:space:]' '\n' | sed '/^$/d' | sort -u
}

# Packages of a list that are not installed, one a line.
missing_packages() {
  comm -23 <(packages_of "$1") \
    <(packages_of "$1" | xargs dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2>/dev/null |
      sed -n 's/^installed //p' | sort -u)
}

# A package's scripts ask policy-rc.d before starting a service: status 101 refuses. An existing policy-rc.d stays.
forbid_services() {
  [ ! -e "$policy" ] || return 0
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
}

apt_install() { apt-get -qq -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@" >&2; }

install_packages() {
  export DEBIAN_FRONTEND=noninteractive
  say "installing $*"
  forbid_services
  apt-get -qq update >&2
  apt_install "$@"
}

say_how_to_install() {
  say "some Debian packages are missing; type this and run the command again:"
  echo "sudo apt-get update && sudo apt-get install -y --no-install-recommends $*" >&2
}

ensure_packages() {
  local missing
  mapfile -t missing < <(missing_packages packages.txt)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -eq 0 ]; then
    install_packages "${missing[@]}"
    return
  fi
  say_how_to_install "${missing[@]}"
  exit 1
}

# Packages singly if the whole list fails: another release of the system may lack a package.
ensure_programs() {
  local missing package
  mapfile -t missing < <(missing_packages "$1")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    say_how_to_install "${missing[@]}"
    return
  fi
  install_packages "${missing[@]}" && return
  for package in "${missing[@]}"; do
    apt_install "$package" || say "$package cannot be installed; what needs it is skipped"
  done
}

# The system's interpreter: an interpreter earlier on PATH may lack modules or have a different version.
interpreter() { if [ -x /usr/bin/python3 ]; then echo /usr/bin/python3; else command -v python3; fi; }

# Changes with the interpreter, the requirements, or the path of the tree.
environment_stamp() {
  { "$(interpreter)" --version; echo "$root"; cat "$root"/{cli,lab}/pyproject.toml "$root/cli/bin/hakmem" "$root/lab/bin/hakmem-lab"; } | sha256sum | cut -d ' ' -f 1
}

# Without pip, and so without a download: the command, and the path of its package. Serves `run` alone.
make_bare_environment() {
  "$(interpreter)" -m venv --without-pip "$venv"
  install -m 755 "$root/cli/bin/hakmem" "$venv/bin/hakmem"
  echo "$root/cli" >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/hakmem.pth"
}

make_environment() {
  "$(interpreter)" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --editable "$root/cli" --editable "$root/lab[tests]" >&2
}

# True if the environment is complete. A full environment serves `run` as well.
has_environment() {
  local there
  there=$(cat "$venv/stamp" 2>/dev/null || true)
  [ "$there" = "$1" ] || [ "$what $there" = "run run $1" ]
}

# The stamp is removed first and written last: after an interruption the next call starts anew.
ensure_environment() {
  local stamp
  stamp=$(environment_stamp)
  ! has_environment "$stamp" || return 0
  hold setup "setup: build/venv"
  ! has_environment "$stamp" || return 0
  say "making build/venv"
  rm -f "$venv/stamp"
  rm -rf "$venv"
  if [ "$what" = run ]; then
    make_bare_environment
    stamp="run $stamp"
  else
    make_environment
  fi
  echo "$stamp" >"$venv/stamp"
}

if command -v dpkg-query >/dev/null; then
  ensure_packages
  case $what in programs | corpus | pareto | judge) ensure_programs "$what.txt" ;; esac
else
  say "this system has no dpkg; what scripts/packages.txt lists must be there already"
fi
ensure_environment
