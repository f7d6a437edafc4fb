# SPDX-License-Identifier: MIT OR Apache-2.0
"""One module per program that only `make programs` runs; written as those in cases/."""
