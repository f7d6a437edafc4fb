# SPDX-License-Identifier: MIT OR Apache-2.0
# Toolchain file: musl with C++, by the compiler of the package ziglang of PyPI, which has musl and libc++ inside. The
# environment variable HAK_ZIG names the interpreter of an environment with that package (scripts/zig.sh makes one).
# Static programs are linked with zig's own musl; dynamic ones run on the musl of the system.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HAK_ZIG)
if(NOT HAK_ZIG)
  set(HAK_ZIG $ENV{HAK_ZIG} CACHE FILEPATH "Interpreter of an environment with the package ziglang")
endif()

# One word each for CMake, which takes no compiler of two.
foreach(kind IN ITEMS cc c++ ar ranlib)
  set(wrapper ${CMAKE_BINARY_DIR}/zig-${kind})
  set(target)
  set(quiet)
  if(kind MATCHES "^c")
    set(target "-target ${CMAKE_SYSTEM_PROCESSOR}-linux-musl -fno-sanitize=undefined")
    # Its clang warns of more than those that HAKMEM is built with; last, as -Wall turns them on.
    set(quiet "-Wno-enum-float-conversion -Wno-uninitialized-const-pointer")
  endif()
  if(NOT EXISTS ${wrapper})
    file(WRITE ${wrapper} "#!/bin/sh\nexec '${HAK_ZIG}' -m ziglang ${kind} ${target} \"$@\" ${quiet}\n")
    file(CHMOD ${wrapper} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endif()
endforeach()
set(CMAKE_C_COMPILER ${CMAKE_BINARY_DIR}/zig-cc)
set(CMAKE_CXX_COMPILER ${CMAKE_BINARY_DIR}/zig-c++)
set(CMAKE_AR ${CMAKE_BINARY_DIR}/zig-ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${CMAKE_BINARY_DIR}/zig-ranlib CACHE FILEPATH "")
