/* A C11 program that knows tessera.h alone: the conventions hold, misuse is an error, sums add up.
 * It runs on whatever libcuda.so.1 is found; the test puts the software device there. */
#include "tessera/tessera.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int condition, const char* text, int line) {
  if (condition) return;
  fprintf(stderr, "line %d: expected %s; last error: %s\n", line, text, tessera_last_error());
  ++failures;
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

static tessera_allocator* make_allocator(const char* device_memory, const char* host_memory) {
  tessera_options* options = NULL;
  tessera_allocator* allocator = NULL;
  EXPECT(tessera_options_create(&options) == TESSERA_OK);
  EXPECT(tessera_options_set(options, "device-memory", device_memory) == TESSERA_OK);
  EXPECT(tessera_options_set(options, "host-memory", host_memory) == TESSERA_OK);
  EXPECT(tessera_options_set(options, "log-level", "error") == TESSERA_OK);
  EXPECT(tessera_options_set(options, "no-such-option", "1") == TESSERA_NOT_FOUND);
  EXPECT(tessera_options_set(options, "device-memory", "much") == TESSERA_INVALID_ARGUMENT);
  char value[6];
  EXPECT(tessera_options_get(options, "log-level", value, sizeof(value)) == TESSERA_OK);
  EXPECT(strcmp(value, "error") == 0);
  EXPECT(tessera_options_get(options, "log-level", value, 5) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_options_get(options, "no-such-option", value, 6) == TESSERA_NOT_FOUND);
  EXPECT(tessera_options_check(options) == TESSERA_OK);
  EXPECT(tessera_options_check(NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_allocator_create(options, &allocator) == TESSERA_OK);
  tessera_options_destroy(options);
  return allocator;
}

static void blocks_are_found_and_freed_once(tessera_allocator* allocator) {
  tessera_address address = 0;
  tessera_block_info info = {.size = sizeof(info)};
  EXPECT(tessera_tag_push(allocator, "weights") == TESSERA_OK);
  EXPECT(tessera_malloc(allocator, 0, 3 << 20, NULL, &address) == TESSERA_OK);
  EXPECT(tessera_tag_pop(allocator) == TESSERA_OK);
  EXPECT(address % 512 == 0);
  EXPECT(tessera_query(allocator, address + 12345, &info) == TESSERA_OK);
  EXPECT(info.address == address && info.bytes == 3 << 20 && info.capacity >= info.bytes);
  EXPECT(strcmp(info.tag, "weights") == 0);
  EXPECT(info.device_bytes >= info.bytes && info.host_bytes == 0 && info.file_bytes == 0);
  EXPECT(tessera_free(allocator, address + 512, NULL) == TESSERA_NOT_FOUND);
  EXPECT(tessera_free(allocator, address, NULL) == TESSERA_OK);
  EXPECT(tessera_free(allocator, address, NULL) == TESSERA_NOT_FOUND);
  EXPECT(strlen(tessera_last_error()) > 0);
  EXPECT(tessera_query(allocator, address, &info) == TESSERA_NOT_FOUND);
  EXPECT(tessera_touch(allocator, address, NULL, TESSERA_READ) == TESSERA_NOT_FOUND);
}

static void misuse_is_an_error(tessera_allocator* allocator) {
  tessera_address address = 0;
  tessera_stats stats = {.size = 0};
  EXPECT(tessera_malloc(NULL, 0, 1, NULL, &address) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_malloc(allocator, 0, 0, NULL, &address) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_malloc(allocator, 0, 1, NULL, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_malloc(allocator, -1, 1, NULL, &address) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_malloc(allocator, 63, 1, NULL, &address) != TESSERA_OK);
  EXPECT(tessera_malloc(allocator, 0, (size_t)1 << 50, NULL, &address) == TESSERA_OUT_OF_MEMORY);
  EXPECT(tessera_free(allocator, 4096, NULL) == TESSERA_NOT_FOUND);
  EXPECT(tessera_get_stats(allocator, &stats) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_tag_pop(allocator) == TESSERA_INVALID_ARGUMENT);
  EXPECT(address == 0);
}

static void more_than_the_device_fits(tessera_allocator* allocator) {
  enum { kBlocks = 24 };
  const size_t bytes = (size_t)4 << 20; /* 96 MiB in all, on 32 MiB of device memory */
  tessera_address blocks[kBlocks];
  tessera_block_info info = {.size = sizeof(info)};
  tessera_stats stats = {.size = sizeof(stats)};
  tessera_use use;
  for (int i = 0; i < kBlocks; ++i) {
    EXPECT(tessera_malloc(allocator, 0, bytes, NULL, &blocks[i]) == TESSERA_OK);
    EXPECT(tessera_use_begin(allocator, &blocks[i], 1, NULL, TESSERA_WRITE, &use) == TESSERA_OK);
    tessera_use_end(allocator, &use);
  }
  /* Partly in host memory, where the machine can do that. */
  const tessera_result all = tessera_use_begin(allocator, blocks, kBlocks, NULL, TESSERA_READ, &use);
  EXPECT(all == TESSERA_OK || all == TESSERA_OUT_OF_MEMORY);
  if (all == TESSERA_OK) tessera_use_end(allocator, &use);
  EXPECT(tessera_get_stats(allocator, &stats) == TESSERA_OK);
  EXPECT((all == TESSERA_OK) == (stats.zero_copy_bytes > 0));
  EXPECT(stats.live_blocks == kBlocks && stats.live_bytes == kBlocks * bytes);
  EXPECT(stats.evictions > 0 && stats.bytes_out > 0);
  EXPECT(stats.device_used <= stats.device_capacity && stats.host_used <= stats.host_capacity);

  EXPECT(tessera_pin(allocator, blocks[0]) == TESSERA_OK);
  EXPECT(tessera_evict(allocator, blocks, 1) == TESSERA_BUSY);
  EXPECT(tessera_query(allocator, blocks[0], &info) == TESSERA_OK);
  EXPECT(info.pins == 1 && info.device_bytes == info.capacity);
  EXPECT(tessera_unpin(allocator, blocks[0]) == TESSERA_OK);
  EXPECT(tessera_unpin(allocator, blocks[0]) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_evict(allocator, blocks, 1) == TESSERA_OK);
  EXPECT(tessera_query(allocator, blocks[0], &info) == TESSERA_OK);
  EXPECT(info.device_bytes == 0 && info.host_bytes == info.capacity);
  EXPECT(tessera_prefetch(allocator, blocks, 1) == TESSERA_OK);
  EXPECT(tessera_mark(allocator, "iteration", 1) == TESSERA_OK);
  for (int i = 0; i < kBlocks; ++i) EXPECT(tessera_free(allocator, blocks[i], NULL) == TESSERA_OK);
  /* What was used in host memory is not what the next blocks get. */
  EXPECT(tessera_trim(allocator) == TESSERA_OK);
  EXPECT(tessera_get_stats(allocator, &stats) == TESSERA_OK);
  EXPECT(stats.zero_copy_bytes == 0);
}

static void a_tag_sleeps_and_wakes(tessera_allocator* allocator) {
  tessera_address weights = 0, other = 0;
  tessera_block_info info = {.size = sizeof(info)};
  tessera_moved moved = {.size = sizeof(moved)};
  tessera_moved unset = {.size = 0};
  EXPECT(tessera_tag_push(allocator, "model") == TESSERA_OK);
  EXPECT(tessera_malloc(allocator, 0, 8 << 20, NULL, &weights) == TESSERA_OK);
  EXPECT(tessera_tag_pop(allocator) == TESSERA_OK);
  EXPECT(tessera_malloc(allocator, 0, 4 << 20, NULL, &other) == TESSERA_OK);
  EXPECT(tessera_sleep(allocator, "modle", &moved) == TESSERA_NOT_FOUND);
  EXPECT(tessera_sleep(allocator, "model", &unset) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_sleep(allocator, "model", &moved) == TESSERA_OK);
  EXPECT(moved.moved_bytes == 8 << 20 && moved.stayed_bytes == 0);
  EXPECT(tessera_query(allocator, weights, &info) == TESSERA_OK);
  EXPECT(info.device_bytes == 0 && info.host_bytes == 8 << 20);
  EXPECT(tessera_query(allocator, other, &info) == TESSERA_OK);
  EXPECT(info.device_bytes == 4 << 20);
  EXPECT(tessera_wake(allocator, "model", &moved) == TESSERA_OK);
  EXPECT(moved.moved_bytes == 8 << 20 && moved.stayed_bytes == 0);
  EXPECT(tessera_sleep(allocator, "model", &moved) == TESSERA_OK);
  EXPECT(tessera_free(allocator, weights, NULL) == TESSERA_OK);
  EXPECT(tessera_wake(allocator, "model", &moved) == TESSERA_OK);
  EXPECT(moved.moved_bytes == 0);
  EXPECT(tessera_free_after(allocator, other, NULL, 0) == TESSERA_OK);
}

/* What the program itself asks of the driver. */
static int (*copy_in)(tessera_address to, const void* from, size_t bytes, tessera_stream stream);
static int (*copy_out)(void* to, tessera_address from, size_t bytes);

static void* driver_function(void* driver, const char* name) {
  void* const found = dlsym(driver, name);
  if (found != NULL) return found;
  fprintf(stderr, "no %s\n", name);
  exit(1);
}

/* Makes the device's primary context current, as a program's own copies need it. */
static void open_driver(void) {
  int (*init)(unsigned flags);
  int (*retain)(void** context, int device);
  int (*set_current)(void* context);
  void* context = NULL;
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  EXPECT(driver != NULL);
  *(void**)&init = driver_function(driver, "cuInit");
  *(void**)&retain = driver_function(driver, "cuDevicePrimaryCtxRetain");
  *(void**)&set_current = driver_function(driver, "cuCtxSetCurrent");
  *(void**)&copy_in = driver_function(driver, "cuMemcpyHtoDAsync_v2");
  *(void**)&copy_out = driver_function(driver, "cuMemcpyDtoH_v2");
  EXPECT(init(0) == 0 && retain(&context, 0) == 0 && set_current(context) == 0);
}

/* The program's own model file: what the callback reads. */
static unsigned char model[4 << 20];
static int times_read = 0;

static int read_again(void* context, tessera_address address, size_t bytes, tessera_stream stream) {
  ++times_read;
  if (*(const int*)context != 0) return *(const int*)context;
  return copy_in(address, model, bytes, stream);
}

static void write_model(tessera_allocator* allocator, tessera_address weights) {
  tessera_use use;
  EXPECT(tessera_use_begin(allocator, &weights, 1, NULL, TESSERA_WRITE, &use) == TESSERA_OK);
  EXPECT(copy_in(weights, model, sizeof(model), NULL) == 0);
  tessera_use_end(allocator, &use);
}

static int holds_model(tessera_address weights) {
  static unsigned char seen[sizeof(model)];
  return copy_out(seen, weights, sizeof(seen)) == 0 && memcmp(seen, model, sizeof(seen)) == 0;
}

/* Copies count when they are over: until that is so for one out and one back, which tell what the link carries. */
static void measure_the_link(tessera_allocator* allocator) {
  const size_t bytes = (size_t)4 << 20;
  tessera_address block = 0;
  tessera_stats stats = {.size = sizeof(stats)};
  EXPECT(tessera_malloc(allocator, 0, bytes, NULL, &block) == TESSERA_OK);
  EXPECT(tessera_touch(allocator, block, NULL, TESSERA_WRITE) == TESSERA_OK);
  EXPECT(tessera_evict(allocator, &block, 1) == TESSERA_OK);
  EXPECT(tessera_touch(allocator, block, NULL, TESSERA_READ) == TESSERA_OK);
  while (tessera_get_stats(allocator, &stats) == TESSERA_OK && stats.bytes_in < bytes) continue;
  EXPECT(stats.bytes_out == bytes && stats.bytes_in == bytes);
  EXPECT(tessera_free(allocator, block, NULL) == TESSERA_OK);
}

/* On a heap of its own, where nothing else is under way. */
static void weights_are_read_again_from_their_file(void) {
  enum { kInvalidSource = 300 };
  tessera_allocator* const allocator = make_allocator("32MiB", "256MiB");
  tessera_address weights = 0;
  tessera_block_info info = {.size = sizeof(info)};
  tessera_stats before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
  int fails_with = 0;
  open_driver();
  measure_the_link(allocator);
  for (size_t i = 0; i < sizeof(model); ++i) model[i] = (unsigned char)(i * 31 + i / 4096);
  EXPECT(tessera_malloc(allocator, 0, sizeof(model), NULL, &weights) == TESSERA_OK);
  write_model(allocator, weights);
  EXPECT(tessera_set_recompute(allocator, 4096, read_again, &fails_with, 1) == TESSERA_NOT_FOUND);
  EXPECT(tessera_set_recompute(allocator, weights, read_again, &fails_with, 1) == TESSERA_OK);
  EXPECT(tessera_get_stats(allocator, &before) == TESSERA_OK);
  EXPECT(tessera_evict(allocator, &weights, 1) == TESSERA_OK);
  EXPECT(tessera_query(allocator, weights, &info) == TESSERA_OK);
  EXPECT(info.device_bytes == 0 && info.host_bytes == 0 && info.file_bytes == 0);
  EXPECT(tessera_set_recompute(allocator, weights, NULL, NULL, 0) == TESSERA_BUSY);
  fails_with = kInvalidSource;
  EXPECT(tessera_touch(allocator, weights, NULL, TESSERA_READ) == TESSERA_DRIVER);
  EXPECT(tessera_last_driver_code() == kInvalidSource);
  fails_with = 0;
  EXPECT(tessera_pin(allocator, weights) == TESSERA_OK);
  EXPECT(holds_model(weights));
  EXPECT(tessera_unpin(allocator, weights) == TESSERA_OK);
  EXPECT(tessera_get_stats(allocator, &after) == TESSERA_OK);
  EXPECT(times_read == 2 && after.recomputes - before.recomputes == 1);
  EXPECT(after.dropped_bytes - before.dropped_bytes == sizeof(model));
  EXPECT(after.recomputed_bytes - before.recomputed_bytes == sizeof(model));
  EXPECT(after.recompute_ns - before.recompute_ns == 1);
  EXPECT(after.bytes_out == before.bytes_out && after.bytes_in == before.bytes_in);
  EXPECT(tessera_set_recompute(allocator, weights, NULL, NULL, 0) == TESSERA_OK);
  EXPECT(tessera_free(allocator, weights, NULL) == TESSERA_OK);
  tessera_allocator_destroy(allocator);
}

static void policies_take_turns(tessera_allocator* allocator) {
  char text[8192];
  size_t needed = 0;
  EXPECT(tessera_set_policy(allocator, "wishful") == TESSERA_INVALID_ARGUMENT);
  EXPECT(strstr(tessera_last_error(), "recency") != NULL);
  EXPECT(tessera_set_policy(allocator, "recency:1") == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_set_policy(allocator, NULL) == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_set_policy(NULL, "lru") == TESSERA_INVALID_ARGUMENT);
  EXPECT(tessera_stats_json(allocator, text, sizeof(text), &needed) == TESSERA_OK);
  EXPECT(strstr(text, "\"policy\":\"auto\"") != NULL || strstr(text, "\"policy\": \"auto\"") != NULL);
  EXPECT(tessera_set_policy(allocator, "te-groups:2") == TESSERA_INVALID_ARGUMENT); /* the laboratory has it */
  EXPECT(tessera_set_policy(allocator, "capuchin:1.2") == TESSERA_OK);
  more_than_the_device_fits(allocator);
  EXPECT(tessera_stats_json(allocator, text, sizeof(text), &needed) == TESSERA_OK);
  EXPECT(strstr(text, "capuchin:1.2") != NULL);
  EXPECT(tessera_set_policy(allocator, "auto") == TESSERA_OK);
}

static void statistics_come_as_json(tessera_allocator* allocator) {
  size_t needed = 0;
  EXPECT(tessera_stats_json(allocator, NULL, 0, &needed) == TESSERA_OK);
  EXPECT(needed > 2);
  char* text = malloc(needed);
  EXPECT(text != NULL && tessera_stats_json(allocator, text, needed, &needed) == TESSERA_OK);
  EXPECT(text[0] == '{' && strstr(text, "live_bytes") != NULL);
  free(text);
  EXPECT(tessera_trim(allocator) == TESSERA_OK);
}

int main(void) {
  EXPECT(strcmp(tessera_version(), TESSERA_VERSION_STRING) == 0);
  EXPECT(strcmp(tessera_result_name(TESSERA_OUT_OF_MEMORY), "out of memory") == 0);
  tessera_allocator* allocator = make_allocator("32MiB", "256MiB");
  if (allocator == NULL) return 1;
  blocks_are_found_and_freed_once(allocator);
  misuse_is_an_error(allocator);
  more_than_the_device_fits(allocator);
  a_tag_sleeps_and_wakes(allocator);
  weights_are_read_again_from_their_file();
  policies_take_turns(allocator);
  statistics_come_as_json(allocator);
  tessera_allocator_destroy(allocator);
  tessera_allocator_destroy(NULL);
  if (failures == 0) printf("all expectations hold\n");
  return failures != 0;
}
