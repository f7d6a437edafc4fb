# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem explain`: what the resident memory of a process that runs is, why, and what would change it.

    pages      the state of each page of HAKMEM's memory       limits   settings, limits of the process and its groups
    outside    mappings that are not HAKMEM's, and owners      holders  call sites and stacks of live blocks
    parts      RSS, divided: each page in one part             unused   pages of huge pages that hold zeros only
    look       all of these at one moment                      growth   what grew between two looks
    causes     a row for each cause: why, and what would change it; of live, free and other memory: live, free, others
    show       the rows as text and JSON
"""
