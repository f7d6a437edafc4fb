# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `hakmem` command: runs programs on HAKMEM beside glibc, and proves what served them.

    cli       the command line; say: its end, and the one clear line for everything that goes wrong
    words     the commands that are done before typer is loaded: exec, `hakmem exec`; shell, `hakmem path` and `env`
    streams   standard input, output and error: closed, full, or with nobody at the other end
    stop      Ctrl-C and its like: when they end the command, when they wait, when what runs is ended first
    run       `hakmem run`: which processes are started, in which order, and what must hold
    checks    what must hold, each as a question with a one-line answer
    program   the program to run; executable: its file, why it cannot be executed; preloadable: nor preloaded
    launch    one process by tools/launcher: environment, streams, figures; scratch: the folder for its files
    preload   the values of LD_PRELOAD
    proof     reads what the probe libraries wrote
    counters  reads what HAKMEM counted
    summary   what is printed; console: where
    places    where the library and the tools are
    peers     the allocators that are measured: where they are, and whether they really served
    trace     `hakmem trace`; recording: the files that become one; unpack: without gzip; encoding: event by event
    corpus    `hakmem corpus`: traces of the programs of corpus_table, which work on corpus_inputs
    excerpt   `hakmem excerpt`: a smaller trace out of one
    replay    `hakmem replay`; predict: `hakmem predict`; model: how its model is run
    sites     `hakmem sites`, with sites_table and names
    simulate  `hakmem simulate`, with simulate_tables and simulate_plots
    stats     `hakmem stats`; top: `hakmem top`; stats_page: what both read; mapped: how it is found
    explain   `hakmem explain`: what an address is; tables: how they are read in another process
    doctor/   `hakmem doctor`: whether HAKMEM would serve a program, and what to change
    bench/    `hakmem bench`: benchmarks on HAKMEM beside its peers
"""

__version__ = "0.1.0"
