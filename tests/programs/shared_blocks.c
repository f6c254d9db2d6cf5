/* Shares blocks with another process by legacy handles, on a device that is too small for all of them.
 *
 * Usage: shared_blocks. Starts itself a second time, with a pipe in each direction. Blocks of several sizes are written
 * here, read and written over there, and read here again, while other blocks push out everything evictable. A handle is
 * opened twice there, and refused after its block was freed. Prints "ok" or what failed.
 */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define BLOCKS 3
#define OTHERS 8
#define OTHER_BYTES (4 << 20)

/* One that shares a page with others, one with base pages, one with large pages too. */
static const size_t sizes[BLOCKS] = {64 << 10, 3 << 20, 34 << 20};

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

/* The other process: it receives handles. */
static int be_other(int in, int out) {
  CUcontext context;
  CUipcMemHandle handle[BLOCKS], stale;
  CUdeviceptr block[BLOCKS], again;
  char word = 0;
  open_device(&context);
  get(in, handle, sizeof(handle));
  for (int b = 0; b < BLOCKS; ++b) {
    CHECK(cuIpcOpenMemHandle(&block[b], handle[b], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CHECK(cuIpcOpenMemHandle(&again, handle[b], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    must(again == block[b], "the same handle, another address");
    must(block_holds(block[b], numbers_of(b), b, 10 + b), "what the first process has written");
    CHECK(cuMemsetD32(block[b], (unsigned)(20 + b), (size_t)numbers_of(b)));
    CHECK(cuIpcCloseMemHandle(again));
  }
  CHECK(cuCtxSynchronize());
  put(out, "w", 1);
  get(in, &word, 1); /* written there once more */
  for (int b = 0; b < BLOCKS; ++b) {
    must(block_holds(block[b], numbers_of(b), b, 30 + b), "what the first process wrote later");
    CHECK(cuIpcCloseMemHandle(block[b]));
  }
  put(out, "c", 1);
  get(in, &stale, sizeof(stale));
  must(cuIpcOpenMemHandle(&again, stale, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS,
       "a block that was freed was opened");
  put(out, "e", 1);
  return 0;
}

static void write_all(const CUdeviceptr* block, int first) {
  for (int b = 0; b < BLOCKS; ++b) {
    CHECK(cuMemsetD32(block[b], (unsigned)(first + b), (size_t)numbers_of(b)));
  }
  CHECK(cuCtxSynchronize());
}

static void push_out(const CUdeviceptr* other) {
  for (int round = 0; round < 2; ++round) {
    for (int o = 0; o < OTHERS; ++o) CHECK(cuMemsetD8(other[o], 1, OTHER_BYTES));
  }
}

static int lead(int in, int out) {
  CUcontext context;
  CUipcMemHandle handle[BLOCKS], same;
  CUdeviceptr block[BLOCKS], other[OTHERS];
  char word = 0;
  open_device(&context);
  for (int b = 0; b < BLOCKS; ++b) CHECK(cuMemAlloc(&block[b], sizes[b]));
  for (int o = 0; o < OTHERS; ++o) CHECK(cuMemAlloc(&other[o], OTHER_BYTES));
  write_all(block, 10);
  push_out(other);
  for (int b = 0; b < BLOCKS; ++b) {
    CHECK(cuIpcGetMemHandle(&handle[b], block[b]));
    CHECK(cuIpcGetMemHandle(&same, block[b]));
    must(memcmp(&same, &handle[b], sizeof(same)) == 0, "a block has two handles");
  }
  push_out(other);
  put(out, handle, sizeof(handle));
  get(in, &word, 1);
  push_out(other);
  for (int b = 0; b < BLOCKS; ++b) {
    must(block_holds(block[b], numbers_of(b), b, 20 + b), "what the other process has written");
  }
  write_all(block, 30);
  push_out(other);
  put(out, "w", 1);
  get(in, &word, 1);
  for (int b = 0; b < BLOCKS; ++b) CHECK(cuMemFree(block[b]));
  CHECK(cuMemAlloc(&block[1], sizes[1]));
  put(out, &handle[1], sizeof(handle[1]));
  get(in, &word, 1);
  return 0;
}

int main(int count, char** arguments) {
  int there[2], back[2], status = 0;
  char in[16], out[16];
  if (count == 3) return be_other(atoi(arguments[1]), atoi(arguments[2]));
  must(pipe(there) == 0 && pipe(back) == 0, "no pipes");
  snprintf(in, sizeof(in), "%d", there[0]);
  snprintf(out, sizeof(out), "%d", back[1]);
  const pid_t other = fork();
  if (other == 0) {
    close(there[1]);
    close(back[0]);
    execl(arguments[0], arguments[0], in, out, (char*)NULL);
    _exit(127);
  }
  close(there[0]);
  close(back[1]);
  must(lead(back[0], there[1]) == 0, "the first process");
  must(waitpid(other, &status, 0) == other && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the other process");
  puts("ok");
  return 0;
}
