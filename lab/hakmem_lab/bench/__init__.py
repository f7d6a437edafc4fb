# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab bench`: measures HAKMEM beside its peers, and prints no figure without proof of what served it.

    command      the options; order: what they ask for; session: admission, the passes, the report, the exit status
    catalogue    which benchmarks there are; sets: which of them and which passes `--set` takes
    cell         one process of a C program; real (and redis): one run of a real program; traces: of a recorded one
    admission    every allocator is tried once before anything is measured
    schedule     the order of the timed runs; disturbance: which of them should not count; progress: the bar
    twin         the counted run that shows that HAKMEM served the calls
    passes       the other passes: latency, syscalls, instructions, timeline, limit; worst: the worst single call
    record       the CSV files; machine: machine.json
    results      reads them; statistics, judge, target, comeback, retain, measures: what they amount to
    tables, sheets, plots, labels, style, page    how that is shown; compare: two folders; paper: lab/docs/report
"""
