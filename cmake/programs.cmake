# Programs that know nothing of Tessera, and their kernels, in lib/tessera/. All serve tests; two are installed as well.
set(program_dir "${TESSERA_LIB_DIR}/tessera")
set(program_targets "")

# A program names libcuda.so.1 and carries no run path: the machine's own driver serves it, or ours
# where the library path says so.
tessera_sources(program_sources tests/programs/*.c tests/programs/*.cpp)
foreach(source IN LISTS program_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(program_${name} "${source}")
  target_include_directories(program_${name} PRIVATE shim/cuda include)
  target_include_directories(program_${name} SYSTEM PRIVATE ${TESSERA_CUDA_INCLUDE})
  target_link_libraries(program_${name} PRIVATE tessera_flags softcuda Threads::Threads
    ${CMAKE_DL_LIBS} m)
  set_target_properties(program_${name} PROPERTIES OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY "${program_dir}" INSTALL_RPATH "")
  if(source MATCHES "\\.cpp$")
    tessera_own_runtime(program_${name})
  endif()
  list(APPEND program_targets program_${name})
endforeach()

# Kernels: one source, compiled as host code into a shared object that the software device loads.
# Not sanitized: they are the device's arithmetic, and must give the same bits in every build.
# -ffp-contract=off for the same reason: no compiler may fuse what another one keeps apart. Without
# -fno-math-errno a square root cannot be vectorised. gcc makes inline variables unique in the process;
# each load must have its own.
set(one_copy_per_load $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
tessera_sources(kernel_sources tests/programs/*.cu)
foreach(source IN LISTS kernel_sources)
  get_filename_component(name "${source}" NAME_WE)
  set_source_files_properties("${source}" PROPERTIES LANGUAGE CXX)
  add_library(kernels_${name} MODULE "${source}")
  target_include_directories(kernels_${name} PRIVATE shim/softcuda)
  target_compile_options(kernels_${name} PRIVATE -Wall -Wextra -Werror -Wno-unknown-pragmas -O3
    -ffp-contract=off -fno-math-errno ${one_copy_per_load})
  set_target_properties(kernels_${name} PROPERTIES OUTPUT_NAME ${name} PREFIX "" SUFFIX .so
    LIBRARY_OUTPUT_DIRECTORY "${program_dir}" C_VISIBILITY_PRESET default CXX_VISIBILITY_PRESET default
    UNITY_BUILD OFF)
  target_link_options(kernels_${name} PRIVATE LINKER:--as-needed)
  list(APPEND program_targets kernels_${name})
  if(TESSERA_GPU_KERNELS)
    find_program(TESSERA_NVCC nvcc HINTS ENV CUDA_HOME "${TESSERA_CUDA_INCLUDE}/.." PATH_SUFFIXES bin REQUIRED)
    set(fatbin "${program_dir}/${name}.fatbin")
    add_custom_command(OUTPUT "${fatbin}" DEPENDS "${source}" VERBATIM
      COMMAND "${TESSERA_NVCC}" -fatbin -std=c++17 -O3 --fmad=false
        -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90
        -I "${CMAKE_SOURCE_DIR}/shim/softcuda" -o "${fatbin}" "${source}")
    add_custom_target(fatbin_${name} ALL DEPENDS "${fatbin}")
    list(APPEND program_targets fatbin_${name})
  endif()
endforeach()

# A stand-in for NCCL, and programs that use it, bound to it as programs are to NCCL.
add_library(nccl_stand_in SHARED tests/programs/nccl/stand_in.c tests/programs/nccl/stand_in_comm.c)
target_include_directories(nccl_stand_in SYSTEM PRIVATE ${TESSERA_CUDA_INCLUDE})
target_link_libraries(nccl_stand_in PRIVATE tessera_flags softcuda Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(nccl_stand_in PROPERTIES OUTPUT_NAME nccl SUFFIX .so.2 NO_SONAME ON INSTALL_RPATH ""
  LIBRARY_OUTPUT_DIRECTORY "${program_dir}/nccl" C_VISIBILITY_PRESET default)
target_link_options(nccl_stand_in PRIVATE LINKER:-soname,libnccl.so.2)
add_library(nccl_stand_in_kernels MODULE tests/programs/nccl/stand_in_kernels.cu)
set_source_files_properties(tests/programs/nccl/stand_in_kernels.cu PROPERTIES LANGUAGE CXX)
target_include_directories(nccl_stand_in_kernels PRIVATE shim/softcuda)
target_compile_options(nccl_stand_in_kernels PRIVATE -Wall -Wextra -Werror -Wno-unknown-pragmas -O3)
set_target_properties(nccl_stand_in_kernels PROPERTIES OUTPUT_NAME stand_in_kernels PREFIX "" SUFFIX .so
  LIBRARY_OUTPUT_DIRECTORY "${program_dir}/nccl" C_VISIBILITY_PRESET default CXX_VISIBILITY_PRESET default
  UNITY_BUILD OFF)
list(APPEND program_targets nccl_stand_in nccl_stand_in_kernels)
foreach(name nccl_devices nccl_processes nccl_extension)
  add_executable(program_${name} tests/programs/nccl/${name}.c)
  target_include_directories(program_${name} PRIVATE tests/programs)
  target_include_directories(program_${name} SYSTEM PRIVATE ${TESSERA_CUDA_INCLUDE})
  target_compile_definitions(program_${name} PRIVATE NCCL_DEVICES_MAIN=main)
  target_link_libraries(program_${name} PRIVATE tessera_flags softcuda Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(program_${name} PROPERTIES OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY "${program_dir}" INSTALL_RPATH "")
  list(APPEND program_targets program_${name})
endforeach()
target_link_libraries(program_nccl_devices PRIVATE nccl_stand_in)
add_library(nccl_devices_library MODULE tests/programs/nccl/nccl_devices.c)
target_include_directories(nccl_devices_library PRIVATE tests/programs)
target_include_directories(nccl_devices_library SYSTEM PRIVATE ${TESSERA_CUDA_INCLUDE})
target_compile_definitions(nccl_devices_library PRIVATE NCCL_DEVICES_MAIN=run_devices)
target_link_libraries(nccl_devices_library PRIVATE tessera_flags nccl_stand_in softcuda Threads::Threads)
set_target_properties(nccl_devices_library PROPERTIES PREFIX "" INSTALL_RPATH "" C_VISIBILITY_PRESET default
  LIBRARY_OUTPUT_DIRECTORY "${program_dir}/nccl")
list(APPEND program_targets nccl_devices_library)

# A stand-in for PyTorch's allocator, under the name of the library that PyTorch has it in, and a program that uses it.
add_library(torch_stand_in SHARED tests/programs/torch/stand_in.cpp)
target_include_directories(torch_stand_in PUBLIC tests/programs/torch)
target_include_directories(torch_stand_in SYSTEM PRIVATE ${TESSERA_CUDA_INCLUDE})
target_link_libraries(torch_stand_in PRIVATE tessera_flags softcuda)
set_target_properties(torch_stand_in PROPERTIES OUTPUT_NAME c10_cuda INSTALL_RPATH "" CXX_VISIBILITY_PRESET default
  LIBRARY_OUTPUT_DIRECTORY "${program_dir}/torch")
add_executable(program_torch_tensors tests/programs/torch/torch_tensors.cpp)
target_include_directories(program_torch_tensors PRIVATE tests/programs)
target_include_directories(program_torch_tensors SYSTEM PRIVATE ${TESSERA_CUDA_INCLUDE})
target_link_libraries(program_torch_tensors PRIVATE tessera_flags torch_stand_in softcuda Threads::Threads)
set_target_properties(program_torch_tensors PROPERTIES OUTPUT_NAME torch_tensors INSTALL_RPATH ""
  RUNTIME_OUTPUT_DIRECTORY "${program_dir}")
list(APPEND program_targets torch_stand_in program_torch_tensors)

# A thin loader of the driver with a helper, a tool that wraps calls of the driver, and a program that opens the driver itself.
set(thin_table "${CMAKE_BINARY_DIR}/thin_table.S")
add_custom_command(OUTPUT "${thin_table}" DEPENDS softcuda tests/programs/thin/thin_table.py VERBATIM
  COMMAND "${TESSERA_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/tests/programs/thin/thin_table.py" $<TARGET_FILE:softcuda>
    "${thin_table}")
add_library(thin_loader SHARED tests/programs/thin/thin_loader.c "${thin_table}")
set_target_properties(thin_loader PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1 NO_SONAME ON C_VISIBILITY_PRESET default)
add_library(thin_helper MODULE tests/programs/thin/thin_helper.c)
set_target_properties(thin_helper PROPERTIES PREFIX "" C_VISIBILITY_PRESET default)
add_library(call_counter MODULE tests/programs/thin/call_counter.c)
target_include_directories(call_counter SYSTEM PRIVATE ${TESSERA_CUDA_INCLUDE})
set_target_properties(call_counter PROPERTIES PREFIX "")
add_executable(program_opened_driver tests/programs/thin/opened_driver.c)
target_include_directories(program_opened_driver SYSTEM PRIVATE ${TESSERA_CUDA_INCLUDE})
set_target_properties(program_opened_driver PROPERTIES OUTPUT_NAME opened_driver INSTALL_RPATH ""
  RUNTIME_OUTPUT_DIRECTORY "${program_dir}")
foreach(target thin_loader thin_helper call_counter program_opened_driver)
  target_link_libraries(${target} PRIVATE tessera_flags ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "" LIBRARY_OUTPUT_DIRECTORY "${program_dir}/thin")
  list(APPEND program_targets ${target})
endforeach()

# A program that the address sanitizer checks, where the compiler has one.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=address)
check_c_source_compiles("int main(void) { return 0; }" TESSERA_COMPILER_CHECKS_ADDRESSES)
unset(CMAKE_REQUIRED_FLAGS)
if(TESSERA_COMPILER_CHECKS_ADDRESSES AND NOT TESSERA_SANITIZE)
  add_executable(program_checked tests/programs/checked/checked.c)
  target_include_directories(program_checked PRIVATE tests/programs)
  target_include_directories(program_checked SYSTEM PRIVATE ${TESSERA_CUDA_INCLUDE})
  target_compile_options(program_checked PRIVATE -fsanitize=address)
  target_link_options(program_checked PRIVATE -fsanitize=address)
  target_link_libraries(program_checked PRIVATE tessera_flags softcuda)
  set_target_properties(program_checked PROPERTIES OUTPUT_NAME checked RUNTIME_OUTPUT_DIRECTORY "${program_dir}"
    INSTALL_RPATH "")
  list(APPEND program_targets program_checked)
endif()

# A stand-in for cuBLASLt, for programs that open it while they run.
if(EXISTS "${TESSERA_CUDA_INCLUDE}/cublasLt.h")
  add_library(cublaslt_stand_in SHARED tests/programs/cublaslt/stand_in.cpp)
  target_include_directories(cublaslt_stand_in SYSTEM PRIVATE ${TESSERA_CUDA_INCLUDE})
  target_link_libraries(cublaslt_stand_in PRIVATE tessera_flags softcuda ${CMAKE_DL_LIBS})
  set_target_properties(cublaslt_stand_in PROPERTIES OUTPUT_NAME cublasLt INSTALL_RPATH "" CXX_VISIBILITY_PRESET default
    LIBRARY_OUTPUT_DIRECTORY "${program_dir}/cublaslt")
  add_library(cublaslt_stand_in_kernels MODULE tests/programs/cublaslt/product_kernels.cu)
  set_source_files_properties(tests/programs/cublaslt/product_kernels.cu PROPERTIES LANGUAGE CXX)
  target_include_directories(cublaslt_stand_in_kernels PRIVATE shim/softcuda)
  target_compile_options(cublaslt_stand_in_kernels PRIVATE -Wall -Wextra -Werror -Wno-unknown-pragmas -O3
    -ffp-contract=off ${one_copy_per_load})
  set_target_properties(cublaslt_stand_in_kernels PROPERTIES OUTPUT_NAME product_kernels PREFIX "" SUFFIX .so
    LIBRARY_OUTPUT_DIRECTORY "${program_dir}/cublaslt" C_VISIBILITY_PRESET default CXX_VISIBILITY_PRESET default
    UNITY_BUILD OFF)
  list(APPEND program_targets cublaslt_stand_in cublaslt_stand_in_kernels)
endif()

# What the software device has in place of the PTX in the library, beside itself.
add_library(softcuda_fingerprint MODULE shim/softcuda/kernels/tessera_fingerprint.cu)
set_source_files_properties(shim/softcuda/kernels/tessera_fingerprint.cu PROPERTIES LANGUAGE CXX)
target_include_directories(softcuda_fingerprint PRIVATE shim/softcuda alloc alloc/driver)
target_compile_options(softcuda_fingerprint PRIVATE -Wall -Wextra -Werror -Wno-unknown-pragmas -O3)
set_target_properties(softcuda_fingerprint PROPERTIES OUTPUT_NAME tessera_fingerprint PREFIX "" SUFFIX .so
  LIBRARY_OUTPUT_DIRECTORY "${TESSERA_LIB_DIR}/softcuda" C_VISIBILITY_PRESET default CXX_VISIBILITY_PRESET default
  UNITY_BUILD OFF)
target_link_options(softcuda_fingerprint PRIVATE LINKER:--as-needed)
if(TARGET softcuda)
  add_dependencies(softcuda softcuda_fingerprint)
endif()

# What `tessera demo` trains, and the smallest program with a kernel of its own.
set(demo_programs train vector_add)
set(demo_targets program_train kernels_train_kernels program_vector_add kernels_vector_add_kernels)

# All that `tessera demo` opens.
add_custom_target(demo_files)
add_dependencies(demo_files tessera ${demo_targets})
foreach(target tessera_cli tessera_preload tessera_torch softcuda softnvrtc)
  if(TARGET ${target})
    add_dependencies(demo_files ${target})
  endif()
endforeach()

# All that tests run.
add_custom_target(program_files)
add_dependencies(program_files demo_files ${program_targets})
