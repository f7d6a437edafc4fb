#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs a program without address randomisation where the system permits: ThreadSanitizer of gcc 12 cannot place the
# shadow on kernels that randomise with more bits than expected. steady_addresses.sh PROGRAM [ARGUMENT...]
if setarch -R true 2>/dev/null; then exec setarch -R "$@"; fi
exec "$@"
