# A second build is mostly copies where the machine has ccache. Another launcher that the user set stays.
find_program(TESSERA_CCACHE ccache)
mark_as_advanced(TESSERA_CCACHE)
if(TESSERA_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # GCC's precompiled headers are cached only if the time of their inclusion may differ.
  set(launcher "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${TESSERA_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
