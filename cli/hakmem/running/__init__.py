# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs on HAKMEM: `hakmem run`, `exec`, `path`, `env`, `replay`."""
