// Blocks on two streams, for tests of the steps before out of memory.
//
// Thread safety: none; one test.
#pragma once

#include <thread>

#include "layer_fixture.hpp"

namespace tessera {

class BlockStepsTest : public LayerTest {
 protected:
  explicit BlockStepsTest(LayerSizes sizes = {.device = 128_MiB, .host = 64_MiB})
      : LayerTest(sizes), a_(new_stream()), b_(new_stream()) {}

  Address allocate(Bytes bytes, StreamId stream, TagId tag = kTag) {
    return take(blocks().allocate(bytes, stream, tag));
  }
  void free(Address address, StreamId stream) { expect_ok(blocks().free(address, stream)); }
  // Frees on a thread that ends at once, so that the block is in the shared cache afterwards.
  void free_elsewhere(Address address, StreamId stream) {
    std::thread([&] { free(address, stream); }).join();
  }
  std::uint64_t hits() { return blocks().stats().cache_hits; }

  const StreamId a_, b_;
};

}  // namespace tessera
