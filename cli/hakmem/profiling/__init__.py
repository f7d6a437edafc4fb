# SPDX-License-Identifier: MIT OR Apache-2.0
"""Who holds memory: `hakmem profile`, what `hakmem exec --profile` says in the end, flame graphs."""
