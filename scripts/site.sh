#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds the documentation site: build/site/html. Installs the packages of docs/site/requirements.txt first, once.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lock.sh
. scripts/venv.sh
venv=build/site/venv

hold site "site: build/site" # to the end: two at once would write the same pages
ensure_venv "$venv" "site: getting mkdocs-material" --requirement docs/site/requirements.txt
exec "$venv/bin/python" scripts/site "$@"
