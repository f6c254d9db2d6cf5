/* Shares memory of a pool and an event with another process, while other blocks may leave.
 *
 * Usage: shared_pools [late]. Starts itself once more, with a pipe each way and the file of the pool. Numbers are
 * written here by work that a host function holds up; the other process waits for the event behind it in a
 * stream, reads them, writes others, and records the event itself. Prints "ok" or what failed.
 */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define BLOCKS 2
#define OTHERS 8
#define OTHER_BYTES (4 << 20)

static const size_t sizes[BLOCKS] = {64 << 10, 3 << 20};
static const CUmemAllocationHandleType file_type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

struct message {
  CUmemPoolPtrExportData block[BLOCKS];
  CUmemPoolPtrExportData of_another_pool;
  CUipcEventHandle event;
};

static void must(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void put(int pipe, const void* bytes, size_t count) {
  must(write(pipe, bytes, count) == (ssize_t)count, "write to a pipe");
}

static void get(int pipe, void* bytes, size_t count) {
  must(read(pipe, bytes, count) == (ssize_t)count, "the other process has ended");
}

static int numbers_of(int block) { return (int)(sizes[block] / sizeof(int)); }

static int be_other(int in, int out, int file) {
  CUcontext context;
  CUmemoryPool pool;
  CUdeviceptr block[BLOCKS], again;
  CUstream stream;
  CUevent event;
  struct message sent;
  char word = 0;
  open_device(&context);
  get(in, &sent, sizeof(sent));
  CHECK(cuMemPoolImportFromShareableHandle(&pool, (void*)(intptr_t)file, file_type, 0));
  must(cuMemPoolImportPointer(&again, pool, &sent.of_another_pool) == CUDA_ERROR_INVALID_VALUE,
       "memory of one pool came from another");
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  must(cuMemAllocFromPoolAsync(&again, 64, pool, stream) == CUDA_ERROR_INVALID_VALUE,
       "another process's pool gave memory");
  for (int b = 0; b < BLOCKS; ++b) CHECK(cuMemPoolImportPointer(&block[b], pool, &sent.block[b]));
  CHECK(cuIpcOpenEventHandle(&event, sent.event));
  must(cuEventQuery(event) == CUDA_ERROR_NOT_READY, "the event is over before its work");
  CHECK(cuStreamWaitEvent(stream, event, 0));
  must(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY, "the stream does not wait");
  put(out, "g", 1);
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuEventQuery(event));
  for (int b = 0; b < BLOCKS; ++b) {
    must(block_holds(block[b], numbers_of(b), b, 10 + b), "what the first process has written");
    CHECK(cuMemsetD32Async(block[b], (unsigned)(20 + b), (size_t)numbers_of(b), stream));
  }
  CHECK(cuEventRecord(event, stream));
  put(out, "w", 1);
  get(in, &word, 1); /* read there */
  for (int b = 0; b < BLOCKS; ++b) CHECK(cuMemFreeAsync(block[b], stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuEventDestroy(event));
  CHECK(cuMemPoolDestroy(pool));
  put(out, "e", 1);
  return 0;
}

/* Holds its stream up until the other process says so. */
static void wait_for_word(void* pipe) {
  char word = 0;
  get(*(int*)pipe, &word, 1);
}

static CUmemoryPool make_pool(CUmemAllocationHandleType type) {
  CUmemPoolProps props;
  CUmemoryPool pool;
  memset(&props, 0, sizeof(props));
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = type;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CHECK(cuMemPoolCreate(&pool, &props));
  return pool;
}

static void push_out(const CUdeviceptr* other) {
  for (int round = 0; round < 2; ++round) {
    for (int o = 0; o < OTHERS; ++o) CHECK(cuMemsetD8(other[o], 1, OTHER_BYTES));
  }
}

/* What may not be shared is refused. */
static void check_refusals(CUstream stream) {
  CUmemoryPool plain = make_pool(CU_MEM_HANDLE_TYPE_NONE);
  CUmemPoolPtrExportData data;
  CUipcEventHandle handle;
  CUdeviceptr block;
  CUevent event;
  int file = -1;
  must(cuMemPoolExportToShareableHandle(&file, plain, file_type, 0) == CUDA_ERROR_INVALID_VALUE,
       "a pool that was not made for it was exported");
  CHECK(cuMemAllocFromPoolAsync(&block, 64, plain, stream));
  must(cuMemPoolExportPointer(&data, block) == CUDA_ERROR_INVALID_VALUE, "memory of such a pool was exported");
  CHECK(cuMemFreeAsync(block, stream));
  CHECK(cuMemAllocAsync(&block, 64, stream));
  must(cuMemPoolExportPointer(&data, block) == CUDA_ERROR_INVALID_VALUE, "memory of the default pool was exported");
  CHECK(cuMemFreeAsync(block, stream));
  CHECK(cuMemPoolDestroy(plain));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  must(cuIpcGetEventHandle(&handle, event) == CUDA_ERROR_INVALID_HANDLE,
       "an event that was not made for it has a handle");
  CHECK(cuEventDestroy(event));
  must(cuEventCreate(&event, CU_EVENT_INTERPROCESS) == CUDA_ERROR_INVALID_VALUE,
       "an event of two processes takes times");
}

static void start_other(char* self, int in, int out, int file, pid_t* other) {
  char numbers[3][16];
  snprintf(numbers[0], sizeof(numbers[0]), "%d", in);
  snprintf(numbers[1], sizeof(numbers[1]), "%d", out);
  snprintf(numbers[2], sizeof(numbers[2]), "%d", file);
  *other = fork();
  if (*other != 0) return;
  (void)fcntl(file, F_SETFD, 0);
  execl(self, self, numbers[0], numbers[1], numbers[2], (char*)NULL);
  _exit(127);
}

/* `late`: a block is allocated before the pool is exported. */
static int lead(char* self, int late) {
  CUcontext context;
  CUmemoryPool pool, another;
  CUdeviceptr block[BLOCKS], elsewhere, other[OTHERS];
  CUstream stream;
  CUevent event;
  struct message sent;
  int there[2], back[2], file = -1, other_file = -1, status = 0;
  pid_t started;
  char word = 0;
  must(pipe(there) == 0 && pipe(back) == 0, "no pipes");
  open_device(&context);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  check_refusals(stream);
  pool = make_pool(file_type);
  another = make_pool(file_type);
  CHECK(cuMemPoolExportToShareableHandle(&other_file, another, file_type, 0));
  close(other_file);
  if (late) CHECK(cuMemAllocFromPoolAsync(&block[0], sizes[0], pool, stream));
  CHECK(cuMemPoolExportToShareableHandle(&file, pool, file_type, 0));
  start_other(self, there[0], back[1], file, &started);
  close(there[0]);
  close(back[1]);
  close(file);
  for (int o = 0; o < OTHERS; ++o) CHECK(cuMemAlloc(&other[o], OTHER_BYTES));
  for (int b = 0; b < BLOCKS; ++b) {
    if (b != 0 || !late) CHECK(cuMemAllocFromPoolAsync(&block[b], sizes[b], pool, stream));
    CHECK(cuMemPoolExportPointer(&sent.block[b], block[b]));
  }
  CHECK(cuMemAllocFromPoolAsync(&elsewhere, sizes[0], another, stream));
  CHECK(cuMemPoolExportPointer(&sent.of_another_pool, elsewhere));
  push_out(other);
  CHECK(cuLaunchHostFunc(stream, wait_for_word, &back[0]));
  for (int b = 0; b < BLOCKS; ++b) {
    CHECK(cuMemsetD32Async(block[b], (unsigned)(10 + b), (size_t)numbers_of(b), stream));
  }
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
  CHECK(cuIpcGetEventHandle(&sent.event, event));
  CHECK(cuEventRecord(event, stream));
  put(there[1], &sent, sizeof(sent));
  CHECK(cuStreamSynchronize(stream));
  get(back[0], &word, 1); /* recorded there */
  CHECK(cuEventSynchronize(event));
  push_out(other);
  for (int b = 0; b < BLOCKS; ++b) {
    must(block_holds(block[b], numbers_of(b), b, 20 + b), "what the other process has written");
  }
  put(there[1], "r", 1);
  get(back[0], &word, 1);
  for (int b = 0; b < BLOCKS; ++b) CHECK(cuMemFreeAsync(block[b], stream));
  CHECK(cuMemFreeAsync(elsewhere, stream));
  CHECK(cuStreamSynchronize(stream));
  must(waitpid(started, &status, 0) == started && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the other process");
  puts("ok");
  return 0;
}

int main(int count, char** arguments) {
  if (count == 4) return be_other(atoi(arguments[1]), atoi(arguments[2]), atoi(arguments[3]));
  return lead(arguments[0], count == 2 && strcmp(arguments[1], "late") == 0);
}
