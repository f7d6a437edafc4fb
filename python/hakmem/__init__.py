"""The `hakmem` command: runs programs on HAKMEM beside glibc, and proves what served them.

    cli       the command line, and the one clear line for everything that goes wrong
    run       `hakmem run`: which processes are started, in which order, and what must hold
    checks    what must hold, each as a question with a one-line answer
    program   the program to run: its command, its executable file, why it cannot be preloaded
    launch    one process by tools/launcher: environment, streams, figures, Ctrl-C
    preload   the values of LD_PRELOAD
    proof     reads what the probe libraries wrote
    counters  reads what HAKMEM counted
    summary   what is printed
    places    where the library and the tools are
    peers     the allocators that are measured: where they are, and whether they really served
    bench/    `hakmem bench`: benchmarks on HAKMEM beside its peers
"""

__version__ = "0.1.0"
