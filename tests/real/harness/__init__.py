# SPDX-License-Identifier: MIT OR Apache-2.0
"""The machinery behind tests/real/run.py: see tests/real/README.md."""
