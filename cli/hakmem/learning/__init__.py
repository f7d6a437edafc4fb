# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is learnt: `hakmem learn`, `decisions`, `policy`."""
