# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every call of a program: `hakmem trace` and `hakmem sites`."""
