# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether the range that a profile states holds the truth as often as it says: heaps of a known truth, sampled by chance,
read as `hakmem profile` reads a table.

    heaps.py  places of known blocks -> samples -> a profile
    held.py   each figure and its range beside the truth -> the table that is printed
"""
