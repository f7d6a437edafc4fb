# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `hakmem` command: runs programs on HAKMEM beside glibc, proves what served them, and looks into what they do.

    commands/   a file for each command, which declares what it takes; cli.py finds it, parses, and carries it out

    running/    run, exec, path, env, replay               learning/   learn, decisions, policy
    watching/   stats, top, address                        tracing/    trace, sites
    profiling/  profile; what exec --profile says          report/     report, the HTML page
    doctor/     doctor                                     explaining/ explain

    process/    programs that are started: their files, what is preloaded, figures, the proof of what served them
    reading/    what is read: statistics pages, other processes, symbols, heap profiles, traces
    base/       options and help, errors and the end of the command, streams and signals, files, consoles, figures as text

Which folder may import which is in cli/layers.txt. run, exec, path and env need the standard library alone.
"""

__version__ = "0.1.0"
