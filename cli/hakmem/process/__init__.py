# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs that are started: their files, what is preloaded, one process with its figures, the proof of who served it."""
