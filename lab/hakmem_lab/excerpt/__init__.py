# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab excerpt`: a smaller trace out of one."""
