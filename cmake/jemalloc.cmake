# jemalloc 5.3 from Debian's source package. Debian's own library cannot be used: its symbols would
# replace the program's malloc, and its initial-exec TLS makes dlopen of our library fail.
# The result is kept outside the build folders, so that every preset of one checkout shares one build: it is C,
# and whichever compiler comes first may build it.
include(ExternalProject)
set(TESSERA_JEMALLOC_VERSION 5.3.0)
set(default_cache "${CMAKE_SOURCE_DIR}/.cache")
if(DEFINED ENV{TESSERA_CACHE_DIR})
  set(default_cache "$ENV{TESSERA_CACHE_DIR}")
endif()
set(TESSERA_CACHE_DIR "${default_cache}" CACHE PATH "where dependencies that we build are kept")

file(SHA256 "${CMAKE_CURRENT_LIST_DIR}/build_jemalloc.sh" script_hash)
string(SHA256 key "${CMAKE_SYSTEM_PROCESSOR}-${script_hash}")
string(SUBSTRING "${key}" 0 12 key)
set(jemalloc_root "${TESSERA_CACHE_DIR}/jemalloc-${TESSERA_JEMALLOC_VERSION}-${key}")
set(jemalloc_archive "${jemalloc_root}/lib/libjemalloc_pic.a")

ExternalProject_Add(jemalloc_external
  PREFIX "${CMAKE_BINARY_DIR}/jemalloc"
  DOWNLOAD_COMMAND "" CONFIGURE_COMMAND "" INSTALL_COMMAND ""
  BUILD_COMMAND sh "${CMAKE_CURRENT_LIST_DIR}/build_jemalloc.sh"
    "${TESSERA_JEMALLOC_VERSION}" "${jemalloc_root}" "${CMAKE_C_COMPILER}"
  BUILD_BYPRODUCTS "${jemalloc_archive}"
  LOG_BUILD ON LOG_OUTPUT_ON_FAILURE ON)

file(MAKE_DIRECTORY "${jemalloc_root}/include")
add_library(jemalloc::jemalloc STATIC IMPORTED GLOBAL)
set_target_properties(jemalloc::jemalloc PROPERTIES
  IMPORTED_LOCATION "${jemalloc_archive}"
  INTERFACE_INCLUDE_DIRECTORIES "${jemalloc_root}/include")
add_dependencies(jemalloc::jemalloc jemalloc_external)
