# SPDX-License-Identifier: MIT OR Apache-2.0
# To be sourced, after lock.sh held something, by scripts that want a Python environment with packages of their own:
#   ensure_venv FOLDER WHAT PIP-WORD...     FOLDER is there, with what pip gets by these words; WHAT is said when it is made
# The stamp goes first and comes last: what is interrupted in between is made anew by the next call.

python=/usr/bin/python3
[ -x "$python" ] || python=python3

# Changes when the interpreter, what is wanted, or the place of the tree does.
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
