# SPDX-License-Identifier: MIT OR Apache-2.0
"""A process that runs: `hakmem top`, `address`."""
