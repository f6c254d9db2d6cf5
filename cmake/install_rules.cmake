# Installed files keep the build tree's layout under the prefix, so every relative path stays true;
# the package files find their prefix from where they lie, so the whole folder may be moved.
include(CMakePackageConfigHelpers)

install(TARGETS tessera EXPORT tesseraTargets LIBRARY DESTINATION lib)
install(TARGETS tessera_replay LIBRARY DESTINATION lib)
install(DIRECTORY include/tessera DESTINATION include)
install(FILES LICENSE DESTINATION share/doc/tessera)
if(TARGET tessera_cli)
  install(TARGETS tessera_cli RUNTIME DESTINATION bin)
endif()
if(TARGET tessera_preload)
  install(TARGETS tessera_preload LIBRARY DESTINATION lib)
endif()
install(TARGETS tessera_torch LIBRARY DESTINATION lib)
if(TARGET softcuda)
  install(TARGETS softcuda LIBRARY DESTINATION lib/softcuda)
endif()
foreach(target IN LISTS program_targets)
  if(target MATCHES "^fatbin_(.*)")
    install(FILES "${TESSERA_LIB_DIR}/tessera/${CMAKE_MATCH_1}.fatbin" DESTINATION lib/tessera)
  else()
    install(TARGETS ${target} RUNTIME DESTINATION lib/tessera LIBRARY DESTINATION lib/tessera)
  endif()
endforeach()

install(EXPORT tesseraTargets NAMESPACE tessera:: DESTINATION lib/cmake/tessera)
configure_package_config_file(cmake/tesseraConfig.cmake.in tesseraConfig.cmake
  INSTALL_DESTINATION lib/cmake/tessera NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(tesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tesseraConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/tesseraConfigVersion.cmake" DESTINATION lib/cmake/tessera)
configure_file(cmake/tessera.pc.in tessera.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tessera.pc" DESTINATION lib/pkgconfig)
