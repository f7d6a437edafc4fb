# SPDX-License-Identifier: MIT OR Apache-2.0
"""Errors of memory, one a process, on every allocator: which are found, and when."""
