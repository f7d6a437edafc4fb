# SPDX-License-Identifier: MIT OR Apache-2.0
"""What each suite of another project needs: two sides to run on, verdicts to compare, a record."""
