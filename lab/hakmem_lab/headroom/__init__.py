# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab headroom`: what the best fixed settings, known beforehand, would save a real program.

    table      the programs, and the settings that are tried
    command    the options; runs and rows are those of `hakmem-lab pareto`
    report     cost of the best settings ÷ the default's, chosen on odd rounds and judged on even ones
    learnt     cost with what is learnt ÷ without it, and ÷ the best peer's at the same price
"""
