#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Makes the documentation site: build/site/html. Gets what docs/site/requirements.txt names first, once.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lock.sh
venv=build/site/venv
python=/usr/bin/python3
[ -x "$python" ] || python=python3

# Changes when the interpreter, what is wanted, or the place of the tree does.
stamp=$({ "$python" --version; pwd; cat docs/site/requirements.txt; } | sha256sum)
has_environment() { [ "$(cat "$venv/stamp" 2>/dev/null || true)" = "$stamp" ]; }

# The stamp goes first and comes last: what is interrupted in between is made anew by the next call.
make_environment() {
  echo "site: getting mkdocs-material" >&2
  rm -f "$venv/stamp"
  rm -rf "$venv"
  mkdir -p build/site
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement docs/site/requirements.txt >&2
  echo "$stamp" >"$venv/stamp"
}

hold site "site: build/site" # to the end: two at once would write the same pages
has_environment || make_environment
exec "$venv/bin/python" scripts/site "$@"
