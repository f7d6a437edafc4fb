# SPDX-License-Identifier: MIT OR Apache-2.0
# The five libraries, made of the layers' objects. All are linked as C: libhakmem.so must not need libstdc++, though
# operator new and delete are written in C++.

function(hak_library target type name export_name)
  add_library(${target} ${type} ${ARGN})
  add_library(hakmem::${export_name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${export_name} LINKER_LANGUAGE C
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC Threads::Threads)
endfunction()

# The linker's default script with order.ld at the beginning of `.text`. Linkers other than GNU ld skip the order.
# The unwind tables have their header, which Debian's musl-gcc leaves out: stacks of samples are walked by it.
set(HAK_LINK -Wl,--eh-frame-hdr -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,-z,noseparate-code -Wl,--sort-section=name)
set(HAK_VERSIONS ${CMAKE_CURRENT_LIST_DIR}/exports.map)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/order.ld)
separate_arguments(flags NATIVE_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_SHARED_LINKER_FLAGS}")
execute_process(COMMAND ${CMAKE_C_COMPILER} ${flags} -shared ${HAK_LINK} -Wl,--verbose -o empty.so
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR} OUTPUT_VARIABLE script ERROR_QUIET)
file(READ ${CMAKE_CURRENT_LIST_DIR}/order.ld order)
if(script MATCHES "\n=+\n(.*\n  [.]text +:\n  {\n)(.*)\n=+\n")
  set(HAK_SCRIPT ${PROJECT_BINARY_DIR}/hakmem.ld)
  file(CONFIGURE OUTPUT ${HAK_SCRIPT} CONTENT "${CMAKE_MATCH_1}${order}${CMAKE_MATCH_2}\n" @ONLY)
  list(APPEND HAK_LINK -Wl,--script=${HAK_SCRIPT})
endif()

# The secure library has the same script with sealed.ld in front of `.data1`. Other linkers insert it themselves.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/sealed.ld)
file(READ ${CMAKE_CURRENT_LIST_DIR}/sealed.ld sealed)
set(HAK_SECURE_SCRIPT ${PROJECT_BINARY_DIR}/hakmem-secure.ld)
if(HAK_SCRIPT)
  file(READ ${HAK_SCRIPT} script)
  string(REPLACE "\n  .data1 " "\n${sealed}\n  .data1 " script "${script}")
  file(CONFIGURE OUTPUT ${HAK_SECURE_SCRIPT} CONTENT "${script}" @ONLY)
else()
  file(CONFIGURE OUTPUT ${HAK_SECURE_SCRIPT} CONTENT "SECTIONS {\n${sealed}}\nINSERT AFTER .data;\n" @ONLY)
endif()
set(HAK_SECURE_LINK ${HAK_LINK})
list(FILTER HAK_SECURE_LINK EXCLUDE REGEX "--script=")
list(APPEND HAK_SECURE_LINK -Wl,--script=${HAK_SECURE_SCRIPT})

# Never unloaded (threads and exit handlers may still be inside), every name bound at load, no undefined symbol left.
# The pages that a tiny process maps and touches are few: headers, code and constants in one segment, code that every
# process runs side by side (order.ld), data that every process touches likewise (HAK_TABLE and HAK_RARE in
# base/bits.h), no start files: these run at the exit of a library that can be unloaded.
function(hak_shared_library target name export_name)
  hak_library(${target} SHARED ${name} ${export_name} ${ARGN})
  set(link ${HAK_LINK})
  if(export_name MATCHES "^secure")
    set(link ${HAK_SECURE_LINK})
  endif()
  target_link_options(${target} PRIVATE ${link} -Wl,--no-undefined -Wl,--as-needed
    -nostartfiles -Wl,--defsym=__dso_handle=g_fork -Wl,--version-script=${HAK_VERSIONS})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${HAK_SCRIPT} ${HAK_VERSIONS})
endfunction()

hak_library(hakmem_static STATIC hakmem static ${HAK_OBJECTS_plain})
set(HAK_LIBRARIES hakmem_static)

if(NOT HAK_SANITIZE)
  hak_shared_library(hakmem hakmem hakmem ${HAK_OBJECTS_main} ${HAK_OBJECTS_override})
  set_target_properties(hakmem PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

  hak_library(hakmem_override STATIC hakmem-override override ${HAK_OBJECTS_main} ${HAK_OBJECTS_archive_override})
  target_link_options(hakmem_override INTERFACE -Wl,-u,malloc)

  hak_shared_library(hakmem_dl hakmem-dl dl ${HAK_OBJECTS_dl})

  hak_shared_library(hakmem_secure hakmem-secure secure ${HAK_OBJECTS_secure} ${HAK_OBJECTS_secure_override})
  set_property(TARGET hakmem_secure APPEND PROPERTY LINK_DEPENDS ${HAK_SECURE_SCRIPT})
  set_target_properties(hakmem_secure PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  list(APPEND HAK_LIBRARIES hakmem hakmem_override hakmem_dl hakmem_secure)
endif()

# Another project builds only the libraries that the project links.
if(NOT HAK_INSTALL)
  set_target_properties(${HAK_LIBRARIES} PROPERTIES EXCLUDE_FROM_ALL TRUE)
endif()

# Targets that `make install` needs, and targets of tools and bench for `make run` and `make bench`.
if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(libraries DEPENDS ${HAK_LIBRARIES})
endif()
if(HAK_BUILD_TOOLS)
  add_custom_target(tools)
endif()

function(hak_tool_folder folder)
  add_subdirectory(${folder})
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    add_dependencies(tools ${target})
  endforeach()
endfunction()
