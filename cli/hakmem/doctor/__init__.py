# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem doctor`: whether HAKMEM would serve a program here, and what stands in its way.

    finding   what a question came to
    symbols   what an ELF file defines, wants and is linked with
    program   questions about the program, answered without running it
    system    questions about the kernel, the limits and this process
    groups    control groups and their limits
    command   all of them, and how they are shown
"""
