#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Makes the documentation site: build/site/html. Gets what docs/site/requirements.txt names first, once.
set -euo pipefail

cd "$(dirname "$0")/.."
venv=build/site/venv
wanted=$(sha256sum docs/site/requirements.txt)

if [ "$(cat "$venv/stamp" 2>/dev/null)" != "$wanted" ]; then
  echo "site: getting mkdocs-material" >&2
  rm -rf "$venv"
  mkdir -p build/site
  python=/usr/bin/python3
  [ -x "$python" ] || python=python3
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement docs/site/requirements.txt >&2
  echo "$wanted" >"$venv/stamp"
fi
exec "$venv/bin/python" scripts/site "$@"
