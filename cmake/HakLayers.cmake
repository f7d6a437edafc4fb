# The layers as object libraries, once per variant. Sources are found by folder: a new file is picked up.
# A variant differs in constants and in the model of thread-local storage, never in #if inside functions:
#   main    HAK_READ_ENVIRONMENT=1, initial-exec      libhakmem.so, libhakmem-override.a
#   plain   HAK_READ_ENVIRONMENT=0, initial-exec      libhakmem.a
#   dl      HAK_READ_ENVIRONMENT=1, global-dynamic    libhakmem-dl.so
# Layer `override` is the part of src/api that defines the malloc family and operator new/delete; it exists in
# variant main only.

set(HAK_LAYERS base os core span box front watch api)

function(hak_layer_sources layer out)
  file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${layer}/*.c ${PROJECT_SOURCE_DIR}/src/${layer}/*.cpp)
  set(${out} ${found} PARENT_SCOPE)
endfunction()

function(hak_layer_library target read_environment tls_model)
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${ARGN})
  target_link_libraries(${target} PRIVATE hak_flags_library)
  target_compile_definitions(${target} PRIVATE HAK_READ_ENVIRONMENT=${read_environment})
  target_compile_options(${target} PRIVATE -ftls-model=${tls_model})
endfunction()

# Defines hak_<variant>_<layer> for every layer that has sources and HAK_OBJECTS_<variant>, all their objects.
function(hak_variant variant read_environment tls_model)
  set(objects)
  foreach(layer IN LISTS HAK_LAYERS)
    hak_layer_sources(${layer} sources)
    list(FILTER sources EXCLUDE REGEX "/src/api/(malloc|new|threads)[^/]*$")
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

# In the archive the C++ runtime is linked beside it: its names are ordinary references there, weak ones in the .so.
hak_layer_sources(api override_sources)
hak_layer_sources(api thread_sources)
list(FILTER override_sources INCLUDE REGEX "/src/api/(malloc|new)[^/]*$")
list(FILTER thread_sources INCLUDE REGEX "/src/api/threads[^/]*$") # an archive cannot stand in for libc's own
hak_layer_library(hak_main_override 1 initial-exec ${override_sources} ${thread_sources})
hak_layer_library(hak_archive_override 1 initial-exec ${override_sources})
target_compile_definitions(hak_main_override PRIVATE HAK_CXX_LINKED=0)
target_compile_definitions(hak_archive_override PRIVATE HAK_CXX_LINKED=1)
set(HAK_OBJECTS_override $<TARGET_OBJECTS:hak_main_override>)
set(HAK_OBJECTS_archive_override $<TARGET_OBJECTS:hak_archive_override>)
