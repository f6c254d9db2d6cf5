# The stand-in for NVRTC, beside the software driver, where programs look for libnvrtc.so. Without the
# toolkit's nvrtc.h it is not built.
if(EXISTS "${TESSERA_CUDA_INCLUDE}/nvrtc.h")
  tessera_sources(softnvrtc_sources shim/softnvrtc/*.cpp shim/softnvrtc/*.S)
  add_library(softnvrtc SHARED ${softnvrtc_sources})
  target_include_directories(softnvrtc PRIVATE shim/softnvrtc "${CMAKE_SOURCE_DIR}")
  target_include_directories(softnvrtc SYSTEM PRIVATE ${TESSERA_CUDA_INCLUDE})
  target_link_libraries(softnvrtc PRIVATE tessera_flags)
  tessera_exports(softnvrtc shim/softnvrtc/exports.map)
  set_target_properties(softnvrtc PROPERTIES OUTPUT_NAME nvrtc SOVERSION 13
    LIBRARY_OUTPUT_DIRECTORY "${TESSERA_LIB_DIR}/softcuda")

  tessera_sources(device_headers shim/softnvrtc/device/*.h shim/softnvrtc/device/*.hpp
    shim/softcuda/softcuda_device.hpp shim/softcuda/softcuda_fibers.hpp alloc/sim/sim_kernel.h)
  set_source_files_properties("${CMAKE_SOURCE_DIR}/shim/softnvrtc/device_headers.S" PROPERTIES
    OBJECT_DEPENDS "${device_headers}")
endif()
