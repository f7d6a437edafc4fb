# SPDX-License-Identifier: MIT OR Apache-2.0
"""One module per program; each has run(session). tests/real/README.md says how a case is written."""
