# SPDX-License-Identifier: MIT OR Apache-2.0
# Programs of a cross build: each stands behind a file that starts it under the emulator (tests/emulate.c), so that
# tests run it as any program. Not in a build without tests, whose programs are for the other machine.
if(NOT (CMAKE_CROSSCOMPILING_EMULATOR AND HAK_BUILD_TESTS))
  function(hak_emulated)
  endfunction()
  return()
endif()

find_program(HAK_HOST_COMPILER NAMES cc gcc clang NO_CMAKE_FIND_ROOT_PATH REQUIRED)
set(hak_emulate ${PROJECT_BINARY_DIR}/emulate)
add_custom_command(OUTPUT ${hak_emulate} DEPENDS ${PROJECT_SOURCE_DIR}/tests/emulate.c VERBATIM
  COMMAND ${HAK_HOST_COMPILER} -O1 -static -Wall -Wextra -Werror -o ${hak_emulate} ${PROJECT_SOURCE_DIR}/tests/emulate.c)
add_custom_target(hak_emulate DEPENDS ${hak_emulate})
list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " hak_emulator)

# Called in the folder of each program.
function(hak_emulated)
  foreach(program IN LISTS ARGN)
    add_custom_command(TARGET ${program} POST_BUILD VERBATIM
      COMMAND ${PROJECT_SOURCE_DIR}/tests/emulated.sh ${hak_emulate} "${hak_emulator}" $<TARGET_FILE:${program}>)
    add_dependencies(${program} hak_emulate)
  endforeach()
endfunction()
