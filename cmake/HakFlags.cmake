# SPDX-License-Identifier: MIT OR Apache-2.0
# Compiler flags: three interface targets.
#   hak_flags_common    every target: the preset's sanitizer, the 0/1 constants, warnings both compilers share
#   hak_flags_library   the layers of src/
#   hak_flags_test      tests and their small programs

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS ON)
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")

set(HAK_ASAN 0)
set(HAK_TSAN 0)
set(sanitizer_flags "")
set(library_sanitizer_flags "") # tests need not be checked for undefined behaviour: half of the compiling time
if(HAK_SANITIZE STREQUAL "address")
  set(HAK_ASAN 1)
  set(sanitizer_flags -fsanitize=address -fno-omit-frame-pointer)
  set(library_sanitizer_flags -fsanitize=undefined -fno-sanitize-recover=all)
elseif(HAK_SANITIZE STREQUAL "thread")
  set(HAK_TSAN 1)
  # ThreadSanitizer does not model fences, and warns; the data ordered by fences is atomic on both sides, so no race is
  # missed or made up.
  set(sanitizer_flags -fsanitize=thread -fno-omit-frame-pointer $<$<C_COMPILER_ID:GNU>:-Wno-tsan>)
elseif(HAK_SANITIZE)
  message(FATAL_ERROR "HAK_SANITIZE is address or thread, not ${HAK_SANITIZE}")
endif()

set(HAK_DEBUG_CHECKS 0)
if(HAK_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(HAK_DEBUG_CHECKS 1)
endif()

# The malloc names mean nothing special to the compiler: no call is dropped, merged or assumed about.
set(no_builtin_allocator)
foreach(name IN ITEMS malloc free calloc realloc aligned_alloc memalign posix_memalign valloc pvalloc)
  list(APPEND no_builtin_allocator -fno-builtin-${name})
endforeach()

# The sanitizer must see every lock as a lock.
set(HAK_ELIDE_LOCKS 1)
if(HAK_TSAN)
  set(HAK_ELIDE_LOCKS 0)
endif()

add_library(hak_flags_common INTERFACE)
target_include_directories(hak_flags_common INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(hak_flags_common INTERFACE
  HAK_DEBUG_CHECKS=${HAK_DEBUG_CHECKS} HAK_ASAN=${HAK_ASAN} HAK_TSAN=${HAK_TSAN}
  HAK_ELIDE_LOCKS=${HAK_ELIDE_LOCKS})
target_compile_options(hak_flags_common INTERFACE
  ${sanitizer_flags} ${no_builtin_allocator} -Wall -Wextra
  $<$<COMPILE_LANGUAGE:CXX>:-fsized-deallocation> $<$<BOOL:${HAK_WERROR}>:-Werror>)
target_link_options(hak_flags_common INTERFACE ${sanitizer_flags} ${library_sanitizer_flags})
target_link_libraries(hak_flags_common INTERFACE Threads::Threads)

# On x86-64 the linker turns a call by the table of addresses into a direct call, and no name of libc's has a stub. On
# AArch64 it does not: each call of a function of another file would read its address.
set(no_plt -fno-plt)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(no_plt)
endif()

# Neither the path of the sources nor of the build enters a library: builds are reproducible in any folder (tests/dist).
# A debugger that runs in the root of the sources finds the files.
add_library(hak_flags_library INTERFACE)
target_link_libraries(hak_flags_library INTERFACE hak_flags_common)
target_compile_options(hak_flags_library INTERFACE
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=./build
  ${library_sanitizer_flags} -fPIC -fvisibility=hidden -fno-semantic-interposition ${no_plt} -Wshadow -Wconversion
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
  $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)

# Tests free wrong pointers and ask for absurd sizes on purpose. The C++ of tests is compiled quickly, as most of the
# code is GoogleTest's: not optimised (with AddressSanitizer 4 s a file instead of 10), except tests with OPTIMISED, whose
# loops are long, and with line numbers as the only debug information.
add_library(hak_flags_test INTERFACE)
target_link_libraries(hak_flags_test INTERFACE hak_flags_common)
# Empty, as `#define _GNU_SOURCE` in a source defines the macro, so that a source may define the macro too.
target_compile_definitions(hak_flags_test INTERFACE $<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE=>)
target_compile_options(hak_flags_test INTERFACE
  $<IF:$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:HAK_OPTIMISED>>>>,-O0,-O1> $<$<COMPILE_LANGUAGE:C>:-Wshadow> -Wno-free-nonheap-object -Wno-unused-result
  $<$<C_COMPILER_ID:GNU>:-Wno-use-after-free> $<$<C_COMPILER_ID:GNU>:-Wno-alloc-size-larger-than>
  $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<C_COMPILER_ID:Clang>:-Wno-non-power-of-two-alignment>
  $<$<COMPILE_LANGUAGE:CXX>:-g1> $<$<COMPILE_LANGUAGE:CXX>:-Wno-mismatched-new-delete>)
