# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab pareto`: CPU time against memory over time, of real programs, on HAKMEM at several settings and on its peers.

    programs, servers, scripts     what runs, and what a server is asked
    configurations                 on which allocator, with which settings
    perform                        one run: phases, figures, proof
    integral, floor                memory over time, and what of it no allocator could do without
    rows, session                  the CSV, and all runs in turn
    verdict, report, plots         what follows from it
"""
