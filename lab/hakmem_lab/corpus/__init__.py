# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab corpus`: traces of real programs, recorded anew."""
