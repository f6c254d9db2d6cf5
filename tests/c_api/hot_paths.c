/* The paths that a program takes all the time, again and again: a use of sixteen blocks, a touch, an
 * allocation that is served from the cache, with its free; and a use of memory that is mapped by many handles, which
 * costs no more than one by few. All must succeed.
 *
 * First so often as launches and allocations are noted of a program that is not short of memory, which costs them more.
 * Each function runs twice, so that a tool that counts its instructions (tests/integration/instruction_counts_test.py)
 * can leave the first time out.
 */
#include "tessera/mapping.h"
#include "tessera/tessera.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 1000
#define BLOCKS 16
#define HANDLES 32
#define NOTED (1 << 17)
#define NOTED_ALLOCATIONS (1 << 15)

static tessera_allocator* allocator;
static tessera_address blocks[BLOCKS], segment;

static void must(tessera_result result) {
  if (result == TESSERA_OK) return;
  fprintf(stderr, "%s\n", tessera_last_error());
  exit(1);
}

__attribute__((always_inline)) static inline void pair(size_t bytes) {
  tessera_address block;
  must(tessera_malloc(allocator, 0, bytes, NULL, &block));
  must(tessera_free(allocator, block, NULL));
}

static void settle(void) {
  for (int i = 0; i < NOTED; ++i) must(tessera_touch(allocator, blocks[0], NULL, TESSERA_READ));
  for (int i = 0; i < NOTED_ALLOCATIONS; ++i) pair((size_t)8 << 20);
}

__attribute__((noinline)) static void use_of_sixteen_blocks(void) {
  for (int i = 0; i < ROUNDS; ++i) {
    tessera_use use;
    must(tessera_use_begin(allocator, blocks, BLOCKS, NULL, TESSERA_WRITE, &use));
    tessera_use_end(allocator, &use);
  }
}

__attribute__((noinline)) static void touch(void) {
  for (int i = 0; i < ROUNDS; ++i) must(tessera_touch(allocator, blocks[0], NULL, TESSERA_READ));
}

__attribute__((always_inline)) static inline void pairs(size_t bytes) {
  for (int i = 0; i < ROUNDS; ++i) pair(bytes);
}

__attribute__((noinline)) static void cached_pair_of_4_kib(void) { pairs(4096); }
__attribute__((noinline)) static void cached_pair_of_8_mib(void) { pairs((size_t)8 << 20); }

__attribute__((noinline)) static void use_of_a_segment(void) {
  const tessera_address inside = segment + 12345;
  for (int i = 0; i < ROUNDS; ++i) {
    tessera_use use;
    must(tessera_use_begin(allocator, &inside, 1, NULL, TESSERA_WRITE, &use));
    tessera_use_end(allocator, &use);
  }
}

static void map_segment(void) {
  must(tessera_addresses_reserve(allocator, 0, 2 * HANDLES * TESSERA_MAPPABLE_PAGE, &segment));
  for (size_t i = 0; i < HANDLES; ++i) {
    tessera_address block;
    must(tessera_mappable_create(allocator, 0, TESSERA_MAPPABLE_PAGE, &block));
    must(tessera_mappable_move(allocator, block, segment + i * TESSERA_MAPPABLE_PAGE, &block));
  }
}

static void unmap_segment(void) {
  for (size_t i = 0; i < HANDLES; ++i) must(tessera_mappable_destroy(allocator, segment + i * TESSERA_MAPPABLE_PAGE));
  must(tessera_addresses_release(allocator, segment));
}

int main(void) {
  static void (*const paths[])(void) = {use_of_sixteen_blocks, touch, cached_pair_of_4_kib, cached_pair_of_8_mib};
  tessera_options* options = NULL;
  must(tessera_options_create(&options));
  must(tessera_options_set(options, "device-memory", "128MiB"));
  must(tessera_options_set(options, "host-memory", "16MiB"));
  must(tessera_allocator_create(options, &allocator));
  tessera_options_destroy(options);
  for (int i = 0; i < BLOCKS; ++i) must(tessera_malloc(allocator, 0, 1 << 21, NULL, &blocks[i]));
  settle();
  for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); ++i) {
    paths[i]();
    paths[i]();
  }
  map_segment(); /* last: from now on an address may mean more than its block */
  use_of_a_segment();
  use_of_a_segment();
  unmap_segment();
  for (int i = 0; i < BLOCKS; ++i) must(tessera_free(allocator, blocks[i], NULL));
  tessera_allocator_destroy(allocator);
  puts("ok");
  return 0;
}
