#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs Conan into build/conan, once.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lock.sh
. scripts/venv.sh

hold conan "conan: build/conan"
ensure_venv build/conan "conan: getting Conan" "conan>=2.4,<3"
