# SPDX-License-Identifier: MIT OR Apache-2.0
"""`make constants`: what it costs to be wrong by two, of every constant."""
