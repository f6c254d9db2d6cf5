# Manual pages and completions of the command, in the build's share/: made of its options, where nothing is sanitized.
if(TARGET tessera_cli AND NOT TESSERA_SANITIZE)
  add_executable(command_files cmake/command_files.cpp)
  target_link_libraries(command_files PRIVATE tessera_commands tessera_core tessera_lab tessera_unoptimised)
  set_target_properties(command_files PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/archive"
    INSTALL_RPATH "$ORIGIN/../lib")
  set(command_share "${CMAKE_BINARY_DIR}/share")
  add_custom_command(OUTPUT "${command_share}/man/man1/tessera.1" DEPENDS command_files VERBATIM
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${command_share}"
    COMMAND command_files "${command_share}")
  add_custom_target(command_share ALL DEPENDS "${command_share}/man/man1/tessera.1")
  add_dependencies(demo_files command_share)
endif()
