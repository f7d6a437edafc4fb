# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is read: statistics pages, other processes, symbols, heap profiles, traces."""
