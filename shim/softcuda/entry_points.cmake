# Generates the tables of documented entry points, and adds them to softcuda.
find_program(TESSERA_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
set(generator "${CMAKE_CURRENT_LIST_DIR}/generate_entry_points.py")
set(newer "${CMAKE_CURRENT_LIST_DIR}/../cuda/newer_cuda.h" "${CMAKE_CURRENT_LIST_DIR}/newer_names.txt")
set(generated "${CMAKE_BINARY_DIR}/softcuda")
add_custom_command(
  OUTPUT "${generated}/entry_points_table.cpp" "${generated}/stream_variants.cpp"
    "${generated}/error_names.inc"
  DEPENDS "${generator}" "${TESSERA_CUDA_INCLUDE}/cuda.h" "${TESSERA_CUDA_INCLUDE}/cudaTypedefs.h" ${newer}
  COMMAND "${TESSERA_PYTHON}" "${generator}" "${TESSERA_CUDA_INCLUDE}" ${newer} "${generated}"
  COMMENT "Reading the driver API's entry points from cuda.h" VERBATIM)
add_custom_target(softcuda_tables DEPENDS "${generated}/error_names.inc")  # for clang-tidy, which builds no more
target_sources(softcuda PRIVATE "${generated}/entry_points_table.cpp"
  "${generated}/stream_variants.cpp" "${generated}/error_names.inc")
# It declares every entry point as a name alone, which no file that sees cuda.h may.
set_source_files_properties("${generated}/entry_points_table.cpp" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# These define names that cuda.h gives to later versions, so they take the macros away.
set_source_files_properties(shim/softcuda/old_names.cpp shim/softcuda/old_graph_names.cpp
  shim/softcuda/old_launch_calls.cpp shim/softcuda/managed_calls.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_include_directories(softcuda PRIVATE "${generated}")

# Engine threads run until the process ends, so the library may never be unmapped under them.
target_link_options(softcuda PRIVATE LINKER:-z,nodelete)
