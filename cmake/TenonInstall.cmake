# Installs headers, libraries, commands, the CMake package Tenon and the pkg-config file tenon.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)

install(TARGETS tenon_shared tenon_static tenon_without tenon_plugin EXPORT TenonTargets)
if(NOT TENON_HOST_GEN)
  install(TARGETS tenon-gen EXPORT TenonTargets)
endif()
if(TARGET tenon)
  install(TARGETS tenon EXPORT TenonTargets)
endif()
install(PROGRAMS $<TARGET_FILE:check> TYPE BIN RENAME tenon-check)
install(DIRECTORY include/tenon TYPE INCLUDE FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tenon/plugins)
install(FILES LICENSE TYPE DOC)
if(TARGET tenon)
  install(FILES docs/tenon.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES cli/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME tenon)
endif()
# As they stand in the source folder, so that the links between them lead somewhere.
install(DIRECTORY docs examples TYPE DOC PATTERN "tenon.1" EXCLUDE PATTERN build EXCLUDE
  PATTERN "*.sh" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# What pages say to copy, or show how something is done.
install(DIRECTORY devices/null devices/shadow DESTINATION ${CMAKE_INSTALL_DOCDIR}/devices)
install(DIRECTORY plugins/acme DESTINATION ${CMAKE_INSTALL_DOCDIR}/plugins)
install(FILES abi/tenon.symbols DESTINATION ${CMAKE_INSTALL_DOCDIR}/abi)
install(DIRECTORY ${CMAKE_BINARY_DIR}/docs/ops DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)

install(EXPORT TenonTargets NAMESPACE Tenon:: DESTINATION ${package_dir})
configure_package_config_file(cmake/TenonConfig.cmake.in ${CMAKE_BINARY_DIR}/TenonConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TenonConfig.cmake ${CMAKE_BINARY_DIR}/TenonConfigVersion.cmake
  cmake/TenonAddPlugin.cmake cmake/TenonExecutorch.cmake cmake/TenonIsa.cmake cmake/TenonGpu.cmake cmake/TenonSelect.cmake gen/aten.yaml abi/tenon.symbols
  DESTINATION ${package_dir})
# What tables of selected parts are made from.
foreach(room ops formats devices)
  install(DIRECTORY ${room} DESTINATION ${package_dir}/families FILES_MATCHING PATTERN "*.yaml"
    PATTERN emit EXCLUDE)
endforeach()

file(RELATIVE_PATH pc_to_prefix /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
configure_file(cmake/tenon.pc.in ${CMAKE_BINARY_DIR}/tenon.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tenon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
