# SPDX-License-Identifier: MIT OR Apache-2.0
# AArch64 with glibc, by Debian's cross compiler; the tests' programs run under qemu-user (tests/emulate.c), or, with
# HAK_EMULATE=OFF, on a kernel of AArch64 (tests/arm64).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(HAK_EMULATE ON CACHE BOOL "Programs of the tests run under qemu-user")
if(HAK_EMULATE)
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
endif()
# Libraries and headers of the machine that builds do not fit; GoogleTest is compiled anew.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
