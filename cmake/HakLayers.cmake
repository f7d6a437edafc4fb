# SPDX-License-Identifier: MIT OR Apache-2.0
# The layers as object libraries, once per variant. Sources are found by folder: a new file is picked up.
# A variant differs in constants and in the model of thread-local storage, never in #if inside functions:
#   main    HAK_READ_ENVIRONMENT=1, initial-exec      libhakmem.so, libhakmem-override.a
#   plain   HAK_READ_ENVIRONMENT=0, initial-exec      libhakmem.a
#   dl      HAK_READ_ENVIRONMENT=1, global-dynamic    libhakmem-dl.so
#   secure  as main, and HAK_SECURE=1                 libhakmem-secure.so
# The layer `secure`, tables/state and entry/secured are in the variant of this name only.
# Layer `override` is the part of src/api that defines names of libc and of the C++ runtime, in variant main only: the
# malloc family and operator new/delete in every library of the variant; functions that call libc's function of the same
# name in libhakmem.so alone, since an archive cannot stand in front of libc.

# Without learning the folder learn_absent replaces learn (src/learn/learn.h).
if(HAKMEM_LEARN)
  set(hak_learn_layer learn)
else()
  set(hak_learn_layer learn_absent)
endif()
set(HAK_LAYERS base os tables retain runs blocks record cache observe reclaim secure ${hak_learn_layer} entry api)
set(hak_override_files "/src/api/(malloc|derived|new)[.]")
set(hak_preload_files "/src/api/(next|process|dlopen)[.]")
set(hak_secure_files "/src/(secure/|os/(chance|guard|seal)[.]|tables/(state|apart)[.]|runs/guards[.]|entry/secured[.])")

# Code that runs once or seldom is built for size.
set(HAK_SMALL base/str os/die os/file os/own_file os/trusted os/complain os/thread
  tables/calls tables/counters tables/shared_file learn/decisions learn/policy learn/learn
  learn/policy_read learn/policy_write learn/rows learn/tune_rows learn/past os/draft os/loaded tables/settings runs/runs_purge blocks/slab_purge reclaim/release
  learn/caches reclaim/trigger learn/extra_class reclaim/drain_idle reclaim/release_all reclaim/peak_limit cache/after_fork reclaim/background_thread
  observe/asked observe/stats observe/stats_page cache/account entry/due entry/heap entry/oom entry/thread record/trace record/trace_chunks
  record/trace_modules os/catch record/profile_ages record/profile_backtrace record/profile_images record/profile_places record/profile_proto record/profile_samples record/profile_write record/python_frames
  learn_absent/absent entry/profiling entry/guard blocks/slab_sampled blocks/guarded observe/report observe/guard_report api/sites base/edits)
foreach(file IN LISTS HAK_SMALL)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/${file}.c APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>)
endforeach()

# Files that call exported names, as new[] calls malloc: by the table of addresses, without a stub, on AArch64 too (HakFlags.cmake).
foreach(file IN ITEMS malloc.c derived.c new.cpp)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/api/${file} APPEND PROPERTY COMPILE_OPTIONS -fno-plt)
endforeach()

# What one libc has and the other lacks (src/os/libc.h).
include(CheckSymbolExists)
check_symbol_exists(__GLIBC__ features.h HAK_GLIBC)
set(hak_other_libc "/src/os/libc_musl[.]")
if(NOT HAK_GLIBC)
  set(hak_other_libc "/src/(api/dlopen|os/libc_glibc)[.]")
endif()

function(hak_layer_sources layer out)
  file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${layer}/*.c ${PROJECT_SOURCE_DIR}/src/${layer}/*.cpp)
  list(FILTER found EXCLUDE REGEX ${hak_other_libc})
  set(${out} ${found} PARENT_SCOPE)
endfunction()

function(hak_layer_library target read_environment tls_model)
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${ARGN})
  target_link_libraries(${target} PRIVATE hak_flags_library)
  target_compile_definitions(${target} PRIVATE HAK_READ_ENVIRONMENT=${read_environment})
  if(target MATCHES "^hak_secure_")
    target_compile_definitions(${target} PRIVATE HAK_SECURE=1)
  endif()
  if(tls_model STREQUAL "initial-exec")
    target_compile_definitions(${target} PRIVATE HAK_STATIC_TLS=1)
  endif()
  target_compile_options(${target} PRIVATE -ftls-model=${tls_model} -ffunction-sections) # see order.ld
endfunction()

# Defines hak_<variant>_<layer> for every layer that has sources, and HAK_OBJECTS_<variant>, the objects of all layers.
function(hak_variant variant read_environment tls_model)
  set(objects)
  foreach(layer IN LISTS HAK_LAYERS)
    hak_layer_sources(${layer} sources)
    list(FILTER sources EXCLUDE REGEX "${hak_override_files}|${hak_preload_files}")
    if(NOT variant STREQUAL "secure")
      list(FILTER sources EXCLUDE REGEX "${hak_secure_files}")
    endif()
    if(sources)
      hak_layer_library(hak_${variant}_${layer} ${read_environment} ${tls_model} ${sources})
      list(APPEND objects $<TARGET_OBJECTS:hak_${variant}_${layer}>)
    endif()
  endforeach()
  set(HAK_OBJECTS_${variant} ${objects} PARENT_SCOPE)
endfunction()

hak_variant(main 1 initial-exec)
hak_variant(plain 0 initial-exec)
hak_variant(dl 1 global-dynamic)
hak_variant(secure 1 initial-exec)

# The archive is linked beside the C++ runtime: names of the runtime are ordinary references there, weak references in
# the .so.
hak_layer_sources(api override_sources)
hak_layer_sources(api preload_sources)
list(FILTER override_sources INCLUDE REGEX ${hak_override_files})
list(FILTER preload_sources INCLUDE REGEX ${hak_preload_files})
hak_layer_library(hak_main_override 1 initial-exec ${override_sources} ${preload_sources})
hak_layer_library(hak_archive_override 1 initial-exec ${override_sources})
hak_layer_library(hak_secure_override 1 initial-exec ${override_sources} ${preload_sources})
target_compile_definitions(hak_main_override PRIVATE HAK_CXX_LINKED=0)
target_compile_definitions(hak_secure_override PRIVATE HAK_CXX_LINKED=0)
target_compile_definitions(hak_archive_override PRIVATE HAK_CXX_LINKED=1)
# Forwarded calls are jumps in every preset: the called function sees the program as its caller, which dlopen relies on.
target_compile_options(hak_main_override PRIVATE -foptimize-sibling-calls)
target_compile_options(hak_secure_override PRIVATE -foptimize-sibling-calls)
target_compile_options(hak_archive_override PRIVATE -foptimize-sibling-calls)
set(HAK_OBJECTS_override $<TARGET_OBJECTS:hak_main_override>)
set(HAK_OBJECTS_secure_override $<TARGET_OBJECTS:hak_secure_override>)
set(HAK_OBJECTS_archive_override $<TARGET_OBJECTS:hak_archive_override>)
