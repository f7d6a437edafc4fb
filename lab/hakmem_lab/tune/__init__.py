# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab simulate --tune`: settings that suit a program, by a model of the library."""
