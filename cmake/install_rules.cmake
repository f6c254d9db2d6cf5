# Installed files keep the build tree's layout under the prefix, so every relative path stays true;
# the package files find their prefix from where they lie, so the whole folder may be moved.
include(CMakePackageConfigHelpers)

# A wheel has no links: each would be another copy of its library, and a process could load two of them.
set(names_for_linking)
if(SKBUILD)
  set(names_for_linking NAMELINK_SKIP)
  set_target_properties(tessera tessera_lab PROPERTIES VERSION ${PROJECT_VERSION_MAJOR})
endif()
install(TARGETS tessera EXPORT tesseraTargets LIBRARY DESTINATION lib ${names_for_linking})
install(TARGETS tessera_lab LIBRARY DESTINATION lib ${names_for_linking})
install(DIRECTORY include/tessera DESTINATION include)
install(FILES LICENSE DESTINATION share/doc/tessera)
if(TARGET tessera_cli)
  install(TARGETS tessera_cli RUNTIME DESTINATION bin)
endif()
if(TARGET command_share)
  # Of a wheel these lie in the environment, beside its bin/, where `man` and the shells look.
  set(share_folder share)
  if(SKBUILD)
    set(share_folder "${SKBUILD_DATA_DIR}/share")
  endif()
  install(DIRECTORY "${command_share}/" DESTINATION "${share_folder}")
endif()
if(TARGET tessera_preload)
  install(TARGETS tessera_preload LIBRARY DESTINATION lib)
endif()
install(TARGETS tessera_torch LIBRARY DESTINATION lib)
if(TARGET softcuda)
  install(TARGETS softcuda softcuda_fingerprint LIBRARY DESTINATION lib/softcuda)
  if(NOT SKBUILD)
    install(FILES "${TESSERA_LIB_DIR}/softcuda/libcuda.so" DESTINATION lib/softcuda)
  endif()
endif()
if(TARGET softnvrtc)
  install(TARGETS softnvrtc LIBRARY DESTINATION lib/softcuda ${names_for_linking})
endif()
install(TARGETS ${demo_targets} RUNTIME DESTINATION lib/tessera LIBRARY DESTINATION lib/tessera)
if(TESSERA_GPU_KERNELS)
  foreach(name IN LISTS demo_programs)
    install(FILES "${TESSERA_LIB_DIR}/tessera/${name}_kernels.fatbin" DESTINATION lib/tessera)
  endforeach()
endif()

install(EXPORT tesseraTargets NAMESPACE tessera:: DESTINATION lib/cmake/tessera)
configure_package_config_file(cmake/tesseraConfig.cmake.in tesseraConfig.cmake
  INSTALL_DESTINATION lib/cmake/tessera NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(tesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tesseraConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/tesseraConfigVersion.cmake" DESTINATION lib/cmake/tessera)
configure_file(cmake/tessera.pc.in tessera.pc @ONLY)
if(NOT SKBUILD)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tessera.pc" DESTINATION lib/pkgconfig)
endif()

# cpack -G DEB: one package, for Debian 12 and what has its C library or a newer one.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tessera-cuda)
set(CPACK_PACKAGE_CONTACT "The Tessera authors <tessera@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "CUDA heap that is larger than the GPU")
set(CPACK_PACKAGE_DESCRIPTION "Runs CUDA programs whose blocks do not all fit into device memory: they move between device
 memory, pinned host memory and files, and are back before they are used. With the tessera command, a preloaded library for
 unmodified programs, and a C library.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)  # strips, and makes a second package, tessera-cuda-dbgsym
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
# tests/package/cxx_runtime_test.py holds this. dpkg-shlibdeps would look for a package that has the driver.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.34)")
include(CPack)
