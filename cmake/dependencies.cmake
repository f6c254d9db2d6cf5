# Everything that comes from Debian's packages, and the CUDA toolkit's headers.
# The driver is opened at run time and never linked, so only cuda.h is looked for.
find_package(Threads REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)

find_path(TESSERA_CUDA_INCLUDE cuda.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES include
  DOC "folder of the CUDA toolkit's cuda.h")
if(NOT TESSERA_CUDA_INCLUDE)
  message(FATAL_ERROR "cuda.h not found: install the CUDA toolkit (no GPU needed), or set CUDA_HOME")
endif()

find_path(TESSERA_FMT_INCLUDE fmt/format-inl.h REQUIRED)
mark_as_advanced(TESSERA_FMT_INCLUDE)
add_library(tessera_fmt STATIC cmake/fmt/fmt_library.cpp)
target_include_directories(tessera_fmt PUBLIC cmake/fmt)
target_include_directories(tessera_fmt SYSTEM PUBLIC ${TESSERA_FMT_INCLUDE})

# Optional: without them `tessera replay` reads traces that are not compressed.
find_library(TESSERA_ZSTD_ARCHIVE NAMES libzstd.a)
find_path(TESSERA_ZSTD_INCLUDE zstd.h)
find_library(TESSERA_ZLIB_ARCHIVE NAMES libz.a)
find_path(TESSERA_ZLIB_INCLUDE zlib.h)
mark_as_advanced(TESSERA_ZSTD_ARCHIVE TESSERA_ZSTD_INCLUDE TESSERA_ZLIB_ARCHIVE TESSERA_ZLIB_INCLUDE)

# Static, because a preloaded library must not drag others into the program it serves.
function(tessera_static_library target archive header)
  string(MAKE_C_IDENTIFIER ${target} key)
  find_library(TESSERA_${key}_ARCHIVE NAMES ${archive} REQUIRED)
  find_path(TESSERA_${key}_INCLUDE ${header} REQUIRED)
  mark_as_advanced(TESSERA_${key}_ARCHIVE TESSERA_${key}_INCLUDE)
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${TESSERA_${key}_ARCHIVE}"
    INTERFACE_INCLUDE_DIRECTORIES "${TESSERA_${key}_INCLUDE}")
endfunction()
tessera_static_library(liburing::liburing liburing.a liburing.h)
tessera_static_library(xxhash::xxhash libxxhash.a xxhash.h)
