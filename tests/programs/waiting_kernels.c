/* Kernels that wait for the host's next action, while the host makes calls for which blocks have to be evicted.
 *
 * Usage: waiting_kernels KERNELS stream|query|event|event_query|context|copy|held|meet|deep|inside|leaving|unknown|
 *                                across|green
 * stream ... copy: blocks are filled, the program waits for that in the way that is named, a kernel then waits on the
 * same stream, and the program allocates. held: likewise with a kernel on a stream that the default stream waits for.
 * meet: as a collective in one process: one kernel waits for another one, which is launched after every kind of call
 *   that can need room.
 * deep: the stream of the kernel that waits takes no more work. inside: likewise, and another thread is inside a launch
 * on it; the allocation may be out of memory. leaving: likewise, and the blocks are leaving by then. unknown: all
 * blocks are filled behind the kernel that waits: the allocation is out of memory, and the program goes on. across:
 * behind the kernel, blocks of another device are copied and freed. green: blocks are filled and freed behind a kernel
 * that waits in a green context. A program that hangs is ended, with a line that says where. Prints "ok" or what was
 * wrong.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define BYTES (4 << 20)
#define COUNT (BYTES / (int)sizeof(int))
#define BLOCKS 8
#define DEPTH 1024   /* operations that a stream takes */
#define FENCES 64    /* more than Tessera may have queued among them */
#define PATIENCE 120 /* seconds, for a machine of any load */

static CUmodule module;
static CUdeviceptr block[BLOCKS];
static volatile int* flags; /* pinned */
static CUdeviceptr flags_there;
static const char* volatile at = "the start";

static void* watch(void* unused) {
  for (int i = 0; i < PATIENCE; ++i) sleep(1);
  fprintf(stderr, "hangs in %s\n", at);
  _exit(9);
  return unused;
}

static void launch(const char* name, int threads, CUstream stream, void** parameters) {
  CUfunction function;
  const unsigned size = threads < 256 ? (unsigned)threads : 256;
  CHECK(cuModuleGetFunction(&function, module, name));
  CHECK(cuLaunchKernel(function, ((unsigned)threads + size - 1) / size, 1, 1, size, 1, 1, 0, stream, parameters, NULL));
}

static void fill(CUdeviceptr target, int value, CUstream stream) {
  int count = COUNT;
  void* parameters[] = {&target, &value, &count};
  launch("fill", COUNT, stream, parameters);
}

static void await_flag(int flag, CUstream stream) {
  CUdeviceptr address = flags_there + (CUdeviceptr)flag * sizeof(int);
  void* parameters[] = {&address};
  launch("await", 1, stream, parameters);
}

static void meet(int own, int other, CUstream stream) {
  CUdeviceptr own_flag = flags_there + (CUdeviceptr)own * sizeof(int);
  CUdeviceptr other_flag = flags_there + (CUdeviceptr)other * sizeof(int);
  void* parameters[] = {&own_flag, &other_flag};
  launch("meet", 1, stream, parameters);
}

static void fill_all(CUstream stream) {
  for (int i = 0; i < BLOCKS; ++i) {
    if (block[i] == 0) CHECK(cuMemAlloc(&block[i], BYTES));
    fill(block[i], i, stream);
  }
}

static int all_hold(void) {
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, i)) return 0;
  }
  return 1;
}

static void wait_by(const char* way, CUstream stream) {
  CUevent event;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  if (strcmp(way, "stream") == 0 || strcmp(way, "held") == 0) CHECK(cuStreamSynchronize(stream));
  if (strcmp(way, "query") == 0) {
    while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) usleep(1000);
  }
  if (strcmp(way, "event") == 0) {
    CHECK(cuEventRecord(event, stream));
    CHECK(cuEventSynchronize(event));
  }
  if (strcmp(way, "event_query") == 0) {
    CHECK(cuEventRecord(event, stream));
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) usleep(1000);
  }
  if (strcmp(way, "context") == 0) CHECK(cuCtxSynchronize());
  CHECK(cuEventDestroy(event));
}

/* The allocation needs the room of two blocks whose work the program knows to be over. */
static int allocate_beside(const char* way) {
  CUstream waiting, work;
  CUdeviceptr more;
  const unsigned kind = strcmp(way, "held") == 0 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
  CHECK(cuStreamCreate(&waiting, kind));
  CHECK(cuStreamCreate(&work, CU_STREAM_NON_BLOCKING));
  if (strcmp(way, "copy") == 0) {
    fill_all(NULL);
    if (!all_hold()) return 1; /* each copy waits for its block, and for what comes before */
    at = "an allocation behind copies";
    await_flag(0, NULL);
  } else {
    fill_all(waiting);
    wait_by(way, waiting);
    at = "an allocation behind a wait";
    await_flag(0, waiting);
  }
  CHECK(cuMemAllocAsync(&more, 2 * BYTES, work));
  if (flags[0] != 0) return 1;
  flags[0] = 1;
  CHECK(cuCtxSynchronize());
  CHECK(cuMemFree(more));
  return all_hold() ? 0 : 1;
}

static int call_between(void) {
  CUstream first, second;
  CUdeviceptr more, other;
  CUevent event;
  size_t free_bytes = 0, total = 0;
  int number = -1;
  CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  fill_all(first);
  CHECK(cuStreamSynchronize(first));
  meet(0, 1, first);
  at = "cuMemAllocAsync";
  CHECK(cuMemAllocAsync(&more, 2 * BYTES, second));
  at = "cuMemsetD32Async";
  CHECK(cuMemsetD32Async(more, 7, 2 * COUNT, second));
  at = "cuMemAlloc";
  CHECK(cuMemAlloc(&other, 2 * BYTES));
  at = "cuMemGetInfo";
  CHECK(cuMemGetInfo(&free_bytes, &total));
  at = "a launch whose block was evicted";
  for (int i = 0; i < BLOCKS; ++i) fill(block[i], i + 1, second);
  at = "cuMemcpyDtoHAsync and a wait for it";
  CHECK(cuMemcpyDtoHAsync(&number, more, sizeof(number), second));
  CHECK(cuStreamSynchronize(second));
  at = "cuEventSynchronize";
  CHECK(cuEventRecord(event, second));
  CHECK(cuEventSynchronize(event));
  at = "cuMemFreeAsync";
  CHECK(cuMemFreeAsync(more, second));
  CHECK(cuMemAllocAsync(&more, 3 * BYTES, second));
  at = "the launch that ends the wait";
  meet(1, 0, second);
  CHECK(cuStreamSynchronize(first));
  CHECK(cuStreamSynchronize(second));
  for (int i = 0; i < BLOCKS; ++i) {
    if (!block_holds(block[i], COUNT, i, i + 1)) return 1;
  }
  return number == 7 ? 0 : 1;
}

/* No operation of ours fits in that stream. */
static int allocate_beside_full_stream(void) {
  CUstream waiting, work;
  CUdeviceptr more;
  CUevent event;
  CHECK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&work, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  fill_all(waiting);
  CHECK(cuStreamSynchronize(waiting));
  for (int i = 0; i < DEPTH; ++i) await_flag(0, waiting);
  at = "an allocation during a full stream";
  CHECK(cuMemAllocAsync(&more, 2 * BYTES, work));
  flags[0] = 1;
  CHECK(cuCtxSynchronize());
  return all_hold() ? 0 : 1;
}

static void* fill_stream(void* stream) {
  CUcontext context;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  for (int i = 0; i <= DEPTH; ++i) {
    flags[1] = i;
    await_flag(0, (CUstream)stream); /* the last one returns when the first has ended */
  }
  return NULL;
}

/* Most likely the other thread is inside a launch by the end. If not, the allocation is served or out of memory. */
static void wait_until_stream_is_full(void) {
  while (flags[1] < DEPTH - FENCES) usleep(1000);
  usleep(100000);
}

/* Another thread is inside a launch that returns only when the waiting kernel ends. */
static int allocate_beside_launch(void) {
  CUstream waiting, work;
  CUdeviceptr more;
  pthread_t other;
  CHECK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&work, CU_STREAM_NON_BLOCKING));
  fill_all(waiting);
  CHECK(cuStreamSynchronize(waiting));
  if (pthread_create(&other, NULL, fill_stream, waiting) != 0) return 1;
  wait_until_stream_is_full();
  at = "an allocation during a launch that does not return";
  const CUresult result = cuMemAllocAsync(&more, 2 * BYTES, work);
  flags[0] = 1;
  pthread_join(other, NULL);
  CHECK(cuCtxSynchronize());
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY) return 1;
  if (result != CUDA_SUCCESS) CHECK(cuMemAllocAsync(&more, 2 * BYTES, work));
  return all_hold() ? 0 : 1;
}

static CUresult allocated_beside;
static volatile int is_allocated;

static void* allocate_on(void* stream) {
  CUcontext context;
  CUdeviceptr more;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  allocated_beside = cuMemAllocAsync(&more, 2 * BYTES, (CUstream)stream);
  is_allocated = 1;
  return NULL;
}

/* The allocation waits for other work first, and its blocks are about to be unmapped when that ends. */
static int allocate_before_launch(void) {
  CUstream waiting, work, busy;
  pthread_t allocating, launching;
  CHECK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&work, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
  fill_all(waiting);
  CHECK(cuStreamSynchronize(waiting));
  await_flag(2, busy);
  at = "an allocation that waits for work, and then for a launch that does not return";
  if (pthread_create(&allocating, NULL, allocate_on, work) != 0) return 1;
  usleep(50000); /* most likely it waits by then; if not, it is served or out of memory */
  if (pthread_create(&launching, NULL, fill_stream, waiting) != 0) return 1;
  wait_until_stream_is_full();
  flags[2] = 1;
  while (!is_allocated) usleep(1000);
  flags[0] = 1;
  pthread_join(allocating, NULL);
  pthread_join(launching, NULL);
  CHECK(cuCtxSynchronize());
  if (allocated_beside != CUDA_SUCCESS && allocated_beside != CUDA_ERROR_OUT_OF_MEMORY) return 1;
  return all_hold() ? 0 : 1;
}

static int allocate_behind_unknown_work(void) {
  CUstream waiting;
  CUdeviceptr more;
  CHECK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
  fill_all(waiting);
  CHECK(cuStreamSynchronize(waiting));
  await_flag(0, waiting);
  fill_all(waiting);
  at = "an allocation for which nothing can be evicted";
  const CUresult refused = cuMemAllocAsync(&more, 2 * BYTES, waiting);
  flags[0] = 1;
  CHECK(cuCtxSynchronize());
  if (refused != CUDA_ERROR_OUT_OF_MEMORY) return 1;
  CHECK(cuMemAllocAsync(&more, 2 * BYTES, waiting)); /* as soon as it can */
  return all_hold() ? 0 : 1;
}

/* Copies to another device, behind a kernel that waits. Meanwhile that device needs room, and their targets stay. */
static int copy_across(CUcontext here) {
  CUcontext there;
  CUstream waiting, busy;
  CUdeviceptr target[2], gone, other[BLOCKS];
  CHECK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
  CHECK(cuDevicePrimaryCtxRetain(&there, 1));
  CHECK(cuCtxSetCurrent(there));
  CHECK(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&target[0], BYTES));
  CHECK(cuMemAlloc(&target[1], BYTES));
  CHECK(cuMemAlloc(&gone, BYTES));
  CHECK(cuCtxSetCurrent(here));
  fill_all(waiting);
  CHECK(cuStreamSynchronize(waiting));
  await_flag(0, waiting);
  at = "copies to another device behind a kernel that waits";
  CHECK(cuMemcpyPeerAsync(target[0], there, block[0], here, BYTES, waiting));
  CHECK(cuMemcpyDtoDAsync(target[1], block[1], BYTES, waiting));
  CHECK(cuMemcpyDtoDAsync(gone, block[2], BYTES, waiting));
  at = "a free behind it";
  CHECK(cuMemFreeAsync(gone, waiting));
  at = "allocations on the other device";
  CHECK(cuCtxSetCurrent(there));
  for (int i = 0; i < BLOCKS - 2; ++i) {
    CHECK(cuMemAllocAsync(&other[i], BYTES, busy));
    CHECK(cuMemsetD32Async(other[i], 77, COUNT, busy));
  }
  CHECK(cuStreamSynchronize(busy));
  if (flags[0] != 0) return 1;
  flags[0] = 1;
  CHECK(cuCtxSetCurrent(here));
  CHECK(cuStreamSynchronize(waiting));
  CHECK(cuCtxSetCurrent(there));
  CHECK(cuMemAlloc(&gone, 4 * BYTES)); /* the targets can be evicted again */
  CHECK(cuMemsetD32(gone, 78, 4 * COUNT));
  for (int i = 0; i < BLOCKS - 2; ++i) {
    if (!block_holds(other[i], COUNT, i, 77)) return 1;
  }
  if (!block_holds(target[0], COUNT, 0, 0) || !block_holds(target[1], COUNT, 1, 1)) return 1;
  CHECK(cuCtxSetCurrent(here));
  return all_hold() ? 0 : 1;
}

/* On a stream of a green context, and on its default stream. */
static int work_in_green_context(CUcontext primary) {
  CUdevResource whole;
  CUdevResourceDesc description;
  CUgreenCtx handle;
  CUcontext green;
  CUstream of_green, work;
  CUdeviceptr more, gone;
  CHECK(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
  CHECK(cuDevResourceGenerateDesc(&description, &whole, 1));
  CHECK(cuGreenCtxCreate(&handle, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  CHECK(cuCtxFromGreenCtx(&green, handle));
  CHECK(cuGreenCtxStreamCreate(&of_green, handle, CU_STREAM_NON_BLOCKING, 0));
  CHECK(cuStreamCreate(&work, CU_STREAM_NON_BLOCKING));
  fill_all(work);
  CHECK(cuStreamSynchronize(work));
  CHECK(cuMemAllocAsync(&gone, BYTES / 4, work));
  CHECK(cuCtxSetCurrent(green));
  await_flag(0, of_green);
  fill(block[0], 0, of_green);
  await_flag(1, NULL);
  at = "a launch on a green context's default stream";
  fill(block[1], 1, NULL);
  at = "a free on it";
  CHECK(cuMemFreeAsync(gone, NULL));
  CHECK(cuCtxSetCurrent(primary));
  at = "an allocation beside work of a green context";
  CHECK(cuMemAllocAsync(&more, 2 * BYTES, work));
  if (flags[0] != 0 || flags[1] != 0) return 1;
  flags[0] = flags[1] = 1;
  CHECK(cuCtxSynchronize());
  CHECK(cuMemFree(more));
  return all_hold() ? 0 : 1;
}

int main(int count, char** arguments) {
  CUcontext context;
  pthread_t watcher;
  int wrong;
  if (count != 3) return 2;
  open_device(&context);
  CHECK(cuModuleLoad(&module, arguments[1]));
  CHECK(cuMemHostAlloc((void**)&flags, 4096, 0));
  memset((void*)flags, 0, 4096);
  CHECK(cuMemHostGetDevicePointer(&flags_there, (void*)flags, 0));
  if (pthread_create(&watcher, NULL, watch, NULL) != 0) return 2;
  if (strcmp(arguments[2], "meet") == 0) {
    wrong = call_between();
  } else if (strcmp(arguments[2], "deep") == 0) {
    wrong = allocate_beside_full_stream();
  } else if (strcmp(arguments[2], "inside") == 0) {
    wrong = allocate_beside_launch();
  } else if (strcmp(arguments[2], "leaving") == 0) {
    wrong = allocate_before_launch();
  } else if (strcmp(arguments[2], "unknown") == 0) {
    wrong = allocate_behind_unknown_work();
  } else if (strcmp(arguments[2], "across") == 0) {
    wrong = copy_across(context);
  } else if (strcmp(arguments[2], "green") == 0) {
    wrong = work_in_green_context(context);
  } else {
    wrong = allocate_beside(arguments[2]);
  }
  puts(wrong ? "wrong" : "ok");
  fflush(stdout);
  _exit(wrong);
}
