# Language level, warnings, sanitizers and output folders, as one interface target: tessera_flags.
option(TESSERA_BUILD_TESTS "build the tests" ON)
option(TESSERA_LONG_TESTS "build the tests of `make check-long` too" OFF)
option(TESSERA_SANITIZED_APART "leave out the unit tests and contracts that a sanitized build runs" OFF)
option(TESSERA_BUILD_BENCH "build the benchmarks" ON)
option(TESSERA_OPTIMISED_BENCH "optimise the benchmarks, to measure with them" OFF)
option(TESSERA_GPU_KERNELS "compile the kernels for a GPU too (needs nvcc)" OFF)
option(TESSERA_LARGE_UNITS "compile several folders of the library together" OFF)
set(TESSERA_SANITIZE "" CACHE STRING "list for -fsanitize=, empty for none")

set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
# Of files that are compiled together: most folders. What headers and templates cost is paid once for each batch, and two
# processors still have something each.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 64)
# Release keeps line tables: a crash report from a user's machine must name lines.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -g1")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG -g1")

set(TESSERA_LIB_DIR "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${TESSERA_LIB_DIR}")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/archive")
# Run paths are relative to the file itself, so build tree, install tree and bundle behave alike.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)

add_library(tessera_flags INTERFACE)
target_compile_options(tessera_flags INTERFACE
  -Wall -Wextra -Wconversion -Wundef -Werror -fno-plt
  "$<$<CXX_COMPILER_ID:Clang>:-Wthread-safety;-Werror=thread-safety>")
# gcc spends a tenth of its time on freeing memory that it could keep: not before there is a GiB of it.
target_compile_options(tessera_flags INTERFACE "$<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>")
if(TESSERA_SANITIZE)
  target_compile_options(tessera_flags INTERFACE
    -fsanitize=${TESSERA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tessera_flags INTERFACE -fsanitize=${TESSERA_SANITIZE})
endif()
# Our libraries bring the address checker into programs that have none: it is a library of its own, as gcc's is.
if(TESSERA_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib/linux OUTPUT_VARIABLE checker_folder
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  target_link_options(tessera_flags INTERFACE -shared-libasan "LINKER:-rpath,${checker_folder}")
  # A driver's functions are found by name and called through types that are not all told.
  target_compile_options(tessera_flags INTERFACE -fno-sanitize=function)
endif()

# Accesses through null or past an object are left to the address sanitizer, which sees them too. That and checks of
# alignment take a third of the time in which the library compiles, so `make check-long` has them.
if(TESSERA_SANITIZE MATCHES address AND NOT TESSERA_LONG_TESTS)
  target_compile_options(tessera_flags INTERFACE -fno-sanitize=null,alignment,object-size)
endif()

# For code the speed of which does not matter, the commands and the tests: it compiles in half of the time. Linked after
# what brings tessera_flags, because the last of such options is the one that counts.
add_library(tessera_unoptimised INTERFACE)
if(TESSERA_SANITIZE)
  target_compile_options(tessera_unoptimised INTERFACE -O0 -fno-sanitize=null,alignment,object-size)
  if(NOT TESSERA_LONG_TESTS)  # a fifth of the time; traces of calls name functions, but no lines
    target_compile_options(tessera_unoptimised INTERFACE -g0)
  endif()
else()
  target_compile_options(tessera_unoptimised INTERFACE -O0 -g0)
endif()

# For what programs call as a driver: one that was built with newer headers passes enumerators that ours lack. Linked
# last as well.
add_library(tessera_any_enumerator INTERFACE)
if(TESSERA_SANITIZE)
  target_compile_options(tessera_any_enumerator INTERFACE -fno-sanitize=enum)
endif()
