# SPDX-License-Identifier: MIT OR Apache-2.0
"""`hakmem-lab lines`: what threads cost one another, counted by a tool for valgrind on threads that run by turns.

    building       the tool and the program of lab/lines, with the headers and libraries that come with valgrind
    counting       one run
    tables         all runs, as Markdown
"""
