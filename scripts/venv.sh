# SPDX-License-Identifier: MIT OR Apache-2.0
# To be sourced, after hold of lock.sh, by scripts that need a Python environment with separate packages:
#   ensure_venv FOLDER WHAT PIP-WORD...     makes FOLDER with the packages of PIP-WORD..., printing WHAT; once
# The stamp is removed first and written last: after an interruption the next call starts anew.

python=/usr/bin/python3
[ -x "$python" ] || python=python3

# Changes with the interpreter, the wanted packages, or the path of the tree.
venv_stamp() {
  local word
  { "$python" --version; pwd; for word; do if [ -f "$word" ]; then cat "$word"; else echo "$word"; fi; done; } | sha256sum
}

ensure_venv() {
  local venv=$1 what=$2 stamp
  shift 2
  stamp=$(venv_stamp "$@")
  [ "$(cat "$venv/stamp" 2>/dev/null || true)" != "$stamp" ] || return 0
  echo "$what" >&2
  rm -f "$venv/stamp"
  rm -rf "$venv"
  mkdir -p "$(dirname "$venv")"
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2
  echo "$stamp" >"$venv/stamp"
}
