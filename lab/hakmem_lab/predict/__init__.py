# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab predict`: peak memory, faults and slow paths by a model, and by a rerun."""
