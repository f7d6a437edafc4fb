# SPDX-License-Identifier: MIT OR Apache-2.0
# Toolchain file: musl on a Debian, with the compiler wrapper of the package musl-tools. In a system of musl none is
# needed. musl-gcc has no sister for C++: operator new and delete (src/api/new.cpp) are compiled by g++ with musl's
# headers of C and g++'s own <new>, and need nothing of a C++ library that is not looked up at run time. musl-gcc hides
# the kernel's headers with glibc's; a folder of links shows these alone.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_CXX_COMPILER g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # no C++ program of musl can be linked

execute_process(COMMAND g++ -print-multiarch OUTPUT_VARIABLE triple OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND g++ -dumpversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE -gnu -musl musl_triple "${triple}")

set(kernel_headers ${CMAKE_BINARY_DIR}/kernel-headers)
file(MAKE_DIRECTORY ${kernel_headers})
foreach(folder IN ITEMS linux asm-generic mtd)
  file(CREATE_LINK /usr/include/${folder} ${kernel_headers}/${folder} SYMBOLIC)
endforeach()
file(CREATE_LINK /usr/include/${triple}/asm ${kernel_headers}/asm SYMBOLIC)

set(CMAKE_C_FLAGS_INIT "-isystem ${kernel_headers}")
string(CONCAT CMAKE_CXX_FLAGS_INIT "-specs=/usr/lib/${musl_triple}/musl-gcc.specs -isystem /usr/include/c++/${version} "
  "-isystem /usr/include/${triple}/c++/${version} -isystem ${kernel_headers} '-D__GLIBC_PREREQ(major,minor)=0'")
