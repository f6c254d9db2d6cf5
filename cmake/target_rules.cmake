# Small functions that the target lists share.

# tessera_sources(OUT pattern...): every matching file, found again at each build, so that none can
# be orphaned; a folder that does not exist yields an empty list.
function(tessera_sources out)
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  file(GLOB found CONFIGURE_DEPENDS ${ARGN})
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# tessera_folders(OUT parent): the folders right below parent.
function(tessera_folders out parent)
  file(GLOB found CONFIGURE_DEPENDS LIST_DIRECTORIES true "${CMAKE_CURRENT_SOURCE_DIR}/${parent}/*")
  list(FILTER found EXCLUDE REGEX "\\.[a-z]+$")
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# tessera_exports(target map): only the symbols of the map leave the library, nothing of the archives
# inside it does, and every symbol it needs is resolved when it is linked. It has a C++ runtime of its own.
function(tessera_exports target map)
  set(map_file "${CMAKE_CURRENT_SOURCE_DIR}/${map}")
  target_link_options(${target} PRIVATE
    "LINKER:--version-script=${map_file}" LINKER:--exclude-libs,ALL)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map_file}")
  if(NOT TESSERA_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  tessera_own_runtime(${target})
endfunction()

# tessera_headers_for_programs(library header...): the headers are read once, for the static library and for the
# programs that say REUSE_FROM it. Compilers share them only between code of one kind, hence -fPIE. Not for what
# clang-tidy reads, which cannot read gcc's; and not in the debug build, which editors read.
function(tessera_headers_for_programs library)
  set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${library} PRIVATE -fPIE)
  target_precompile_headers(${library} PRIVATE ${ARGN})
endfunction()

# tessera_own_runtime(target...): the C++ runtime goes into the file itself. A program's own may be newer than the
# system's, and one that is mapped first serves the whole process. A sanitizer's runtime needs the shared one.
if(NOT TESSERA_SANITIZE)
  add_library(tessera_unwind_tables STATIC "${CMAKE_SOURCE_DIR}/cmake/unwind_tables.c")
  target_link_libraries(tessera_unwind_tables PRIVATE tessera_flags)
endif()
function(tessera_own_runtime)
  if(TESSERA_SANITIZE)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    # The table finder is asked for by name: the compiler puts libgcc, which needs it, behind all archives. Functions
    # that are not called stay out, because parts of libstdc++ want functions that older C libraries lack.
    target_link_libraries(${target} PRIVATE tessera_unwind_tables)
    target_link_options(${target} PRIVATE "$<$<LINK_LANGUAGE:CXX>:-static-libstdc++;-static-libgcc>"
      LINKER:--undefined=_dl_find_object LINKER:--gc-sections)
  endforeach()
endfunction()
