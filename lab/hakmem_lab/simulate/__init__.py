# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab simulate`: what keep times for free memory would have cost."""
