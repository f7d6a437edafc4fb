# The four libraries, put together from the layers' objects. All are linked as C: libhakmem.so must not need
# libstdc++, though operator new and delete are written in C++.

function(hak_library target type name export_name)
  add_library(${target} ${type} ${ARGN})
  add_library(hakmem::${export_name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${export_name} LINKER_LANGUAGE C
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC Threads::Threads)
endfunction()

# Never unloaded (threads and exit handlers may still be inside), every name bound at load, nothing left open.
function(hak_shared_library target name export_name)
  hak_library(${target} SHARED ${name} ${export_name} ${ARGN})
  target_link_options(${target} PRIVATE
    -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,--no-undefined -Wl,--as-needed)
endfunction()

hak_library(hakmem_static STATIC hakmem static ${HAK_OBJECTS_plain})
set(HAK_LIBRARIES hakmem_static)

if(NOT HAK_SANITIZE)
  hak_shared_library(hakmem hakmem hakmem ${HAK_OBJECTS_main} ${HAK_OBJECTS_override})
  set_target_properties(hakmem PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

  hak_library(hakmem_override STATIC hakmem-override override ${HAK_OBJECTS_main} ${HAK_OBJECTS_archive_override})
  target_link_options(hakmem_override INTERFACE -Wl,--undefined=malloc)

  hak_shared_library(hakmem_dl hakmem-dl dl ${HAK_OBJECTS_dl})
  list(APPEND HAK_LIBRARIES hakmem hakmem_override hakmem_dl)
endif()

# What `make install` needs built, and what the folders of tools and benchmarks make for `make run` and `make bench`.
add_custom_target(libraries DEPENDS ${HAK_LIBRARIES})
add_custom_target(tools)

function(hak_tool_folder folder)
  add_subdirectory(${folder})
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    add_dependencies(tools ${target})
  endforeach()
endfunction()
