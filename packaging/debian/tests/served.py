# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ends well only where HAKMEM serves malloc: it is asked whether it owns a block that the process got by malloc."""

import ctypes
import sys

process = ctypes.CDLL(None)
process.malloc.restype = ctypes.c_void_p
if not hasattr(process, "hak_owns"):
    sys.exit("served by another malloc: HAKMEM is not in this process")
process.hak_owns.argtypes, process.hak_owns.restype = [ctypes.c_void_p], ctypes.c_bool
if not process.hak_owns(process.malloc(1000)):
    sys.exit("served by another malloc: HAKMEM is loaded, and did not give this block")
print("served by HAKMEM")
