/* A kernel of the simulated device: host code that runs one block of the grid at a time.
 *
 * Plain C, so that a kernel object needs nothing of ours but this header. `Launch.kernel` points to a
 * sim_kernel, which must live as long as the work launched from it.
 *
 * Thread safety: values. run_block is called on an engine thread of the device; blocks of one
 * launch run one after another, launches of different devices at the same time.
 *
 * Invariants: parameters lie in ascending order, each naturally aligned, none beyond
 * parameter_bytes.
 */
#ifndef TESSERA_DRIVER_SIM_KERNEL_H
#define TESSERA_DRIVER_SIM_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_KERNEL_ABI_VERSION 2u

/* The block to run: the launch's dimensions, this block's index in the grid, its shared memory. */
typedef struct sim_block {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t index[3];
  void* shared; /* 16-byte aligned; null when the launch asked for none */
} sim_block;

/* Runs all threads of one block. `parameters` is the packed parameter block of the launch. Returns 0, or
 * another value when there is no host memory to run the block, which ends the launch. */
typedef int (*sim_run_block)(const sim_block* block, const void* parameters);

typedef struct sim_parameter {
  uint32_t offset;
  uint32_t size;
} sim_parameter;

typedef struct sim_kernel {
  uint32_t abi_version; /* SIM_KERNEL_ABI_VERSION */
  const char* name;
  sim_run_block run_block;
  uint32_t parameter_count;
  const sim_parameter* parameters;
  uint32_t parameter_bytes; /* of the packed block */
} sim_kernel;

#ifdef __cplusplus
}
#endif

#endif
