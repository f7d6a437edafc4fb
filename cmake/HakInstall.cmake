# SPDX-License-Identifier: MIT OR Apache-2.0
# Destinations of `make install`: libraries, headers, the CMake package, the pkg-config files, manual pages, shell
# completion, licences.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hakmem)

# libhakmem-dl.so has no version number in its name, so the folders searched by the linker should not contain the file:
# distributions set a different folder.
set(HAK_INSTALL_DLDIR ${CMAKE_INSTALL_LIBDIR} CACHE STRING "Where libhakmem-dl.so goes, which is opened by its path")
list(REMOVE_ITEM HAK_LIBRARIES hakmem_dl)
install(TARGETS ${HAK_LIBRARIES} EXPORT hakmemTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET hakmem_dl)
  install(TARGETS hakmem_dl EXPORT hakmemTargets LIBRARY DESTINATION ${HAK_INSTALL_DLDIR})
endif()
install(DIRECTORY include/hakmem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT hakmemTargets NAMESPACE hakmem:: DESTINATION ${package_dir})

configure_package_config_file(cmake/hakmemConfig.cmake.in ${PROJECT_BINARY_DIR}/hakmemConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hakmemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hakmemConfig.cmake ${PROJECT_BINARY_DIR}/hakmemConfigVersion.cmake
  DESTINATION ${package_dir})

# The pkg-config files compute their prefix from their own path, so an installed tree may be moved.
file(RELATIVE_PATH HAK_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(HAK_PC_NAMES hakmem)
if(TARGET hakmem_secure)
  list(APPEND HAK_PC_NAMES hakmem-secure)
endif()
foreach(HAK_PC_NAME IN LISTS HAK_PC_NAMES)
  configure_file(cmake/hakmem.pc.in ${PROJECT_BINARY_DIR}/${HAK_PC_NAME}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${HAK_PC_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# Written by scripts/manual.
install(FILES man/hakmem.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES man/hakmem.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
install(FILES man/hakmem-settings.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
install(FILES completions/hakmem.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME hakmem)
install(FILES completions/_hakmem DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES completions/hakmem.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES LICENSE LICENSE-MIT LICENSE-APACHE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
