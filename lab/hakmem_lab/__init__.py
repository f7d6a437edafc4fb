# SPDX-License-Identifier: MIT OR Apache-2.0
"""The laboratory of HAKMEM: benchmarks, models and experiments. README.md says which command does what."""
