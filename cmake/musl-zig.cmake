# SPDX-License-Identifier: MIT OR Apache-2.0
# Toolchain file: musl with C++, by the compiler of the package ziglang of PyPI, which has musl and libc++ inside. The
# environment variable HAK_ZIG names the interpreter of an environment with that package (scripts/zig.sh makes one).
#   HAK_MUSL_MACHINE      the processor: x86_64, aarch64; this machine's unless set
#   programs              linked by zig, dynamically unless -static is asked for; a dynamic program runs on the musl of
#                         the system, or of build/musl-root/MACHINE (scripts/musl_root.sh), under qemu-user
#   libraries of C        linked by GNU ld, as zig's linker knows neither --defsym nor linker scripts (HakLibraries.cmake)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HAK_ZIG HAK_MUSL_MACHINE)
if(NOT HAK_ZIG)
  set(HAK_ZIG $ENV{HAK_ZIG} CACHE FILEPATH "Interpreter of an environment with the package ziglang")
endif()
set(HAK_MUSL_MACHINE ${CMAKE_HOST_SYSTEM_PROCESSOR} CACHE STRING "x86_64 or aarch64")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${HAK_MUSL_MACHINE})
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # else the libraries of C++ would be linked into each library of C
set(CMAKE_EXE_LINKER_FLAGS_INIT "-dynamic -Wl,--build-id")
# A program's copy of a variable of musl, as __stack_chk_guard, would be one for all of musl's variables: in the libc.so
# that zig links with, they have the same address.
set(CMAKE_C_FLAGS_INIT "-fno-stack-protector -fno-direct-access-external-data")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")

set(HAK_MUSL_ROOT "")
if(NOT HAK_MUSL_MACHINE STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(HAK_MUSL_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/musl-root/${HAK_MUSL_MACHINE})
  cmake_path(NORMAL_PATH HAK_MUSL_ROOT)
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${HAK_MUSL_MACHINE} -L ${HAK_MUSL_ROOT})
endif()

execute_process(COMMAND ${HAK_ZIG} -c "import ziglang, pathlib; print(pathlib.Path(ziglang.__file__).parent / 'zig', end='')"
  OUTPUT_VARIABLE zig COMMAND_ERROR_IS_FATAL ANY)

# By this name Alpine knows musl, and any musl's loader itself; packaging tools expect it in a library.
set(libc libc.musl-${HAK_MUSL_MACHINE}.so.1)
file(CREATE_LINK ${HAK_MUSL_ROOT}/lib/${HAK_MUSL_MACHINE}-linux-musl/libc.so ${CMAKE_BINARY_DIR}/${libc} SYMBOLIC)

# One word each for CMake, which takes no compiler of two.
foreach(kind IN ITEMS cc c++ ar ranlib)
  set(wrapper ${CMAKE_BINARY_DIR}/zig-${kind})
  set(target)
  set(quiet)
  set(link)
  if(kind MATCHES "^c")
    set(target "-target ${HAK_MUSL_MACHINE}-linux-musl -fno-sanitize=undefined")
    # Its clang warns of more than those that HAKMEM is built with; last, as -Wall turns them on.
    set(quiet "-Wno-enum-float-conversion -Wno-uninitialized-const-pointer")
  endif()
  if(kind STREQUAL "cc")
    set(link "for word; do
  [ \"$word\" = -shared ] || continue
  for word; do shift; case $word in -f*) ;; *) set -- \"$@\" \"$word\" ;; esac; done # clang's, which gcc may not know
  exec ${HAK_MUSL_MACHINE}-linux-gnu-gcc -nostdlib \"$@\" -Wl,--build-id -L${CMAKE_BINARY_DIR} -l:${libc}
done
")
  endif()
  if(NOT EXISTS ${wrapper})
    file(WRITE ${wrapper} "#!/bin/sh\n${link}exec '${zig}' ${kind} ${target} \"$@\" ${quiet}\n")
    file(CHMOD ${wrapper} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endif()
endforeach()
set(CMAKE_C_COMPILER ${CMAKE_BINARY_DIR}/zig-cc)
set(CMAKE_CXX_COMPILER ${CMAKE_BINARY_DIR}/zig-c++)
set(CMAKE_AR ${CMAKE_BINARY_DIR}/zig-ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${CMAKE_BINARY_DIR}/zig-ranlib CACHE FILEPATH "")
