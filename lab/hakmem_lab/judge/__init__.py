# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab judge`: CPU time, page faults and peak memory of real programs, on every allocator by turns, and a judge.

    inputs, table      the programs, and the texts that they read
    regimes            the state of the machine's huge pages before each run
    measure            one run, proven
    rows, session      the CSV, and all runs by turns
    counted            one run under cachegrind: instructions, and misses of simulated caches
    verdict, report    the best peer of a program, chosen on odd rounds and judged on even ones
"""
