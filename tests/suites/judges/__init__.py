# SPDX-License-Identifier: MIT OR Apache-2.0
"""One module per suite: TITLE, PART (which part runs), UNITS, prepare(folder), run(side, unit)."""
