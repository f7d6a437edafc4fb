# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem report`: the HTML page of a profile, and of a process while it is watched."""
