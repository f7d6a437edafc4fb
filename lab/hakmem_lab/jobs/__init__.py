# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab jobs`: ten programs with a cause that is known, and what each tool says of it.

    model      lab/jobs/NN-name/job.toml: the truth, the lines that are typed for each tool, where the answer stands
    watch      CPU time and memory of the program while a tool works on it
    perform    the lines of one tool in a folder of their own, within a control group where the job has one
    answer     right, partly, wrong, by name and figure
    report     the table of a CSV
"""
