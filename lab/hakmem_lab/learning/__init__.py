# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab learning`: how a process learnt, drawn."""
