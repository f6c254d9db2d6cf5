/* The example of docs/quickstart.md, word for word; a test compares the two. */
#include "tessera/tessera.h"

int main(void) {
  tessera_allocator* heap;
  tessera_address block;
  tessera_use use;
  if (tessera_allocator_create(NULL, &heap) != TESSERA_OK) return 1;
  if (tessera_malloc(heap, 0, 64 << 20, NULL, &block) != TESSERA_OK) return 2;
  if (tessera_use_begin(heap, &block, 1, NULL, TESSERA_WRITE, &use) != TESSERA_OK) return 3;
  /* queue work on the stream: until it is done, the block stays in device memory */
  tessera_use_end(heap, &use);
  tessera_free(heap, block, NULL);
  tessera_allocator_destroy(heap);
  return 0;
}
