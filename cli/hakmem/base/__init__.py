# SPDX-License-Identifier: MIT OR Apache-2.0
"""What every other folder uses: errors, the end of the command, streams, signals, files, consoles, figures as text."""
