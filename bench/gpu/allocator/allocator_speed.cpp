// How fast Tessera is on this machine, compared with the driver itself: pairs of allocation and free, transfers in one
// and in both directions compared with the bare link, sleep and wake.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "heap.hpp"

namespace first_light {
namespace {

// ---- an allocation and its free, in nanoseconds ----------------------------------------------

template <class Pair>
Json pair_cost(int rounds, Pair pair) {
  pair();
  std::vector<double> costs;
  for (int turn = 0; turn < 9; ++turn) {
    const Watch watch;
    for (int i = 0; i < rounds; ++i) pair();
    costs.push_back(1e9 * watch.seconds() / rounds);
  }
  return spread(costs);
}

Json pairs(bool quick) {
  const Gpu gpu;
  const Heap heap({{"device-memory", quick ? "256MiB" : "2GiB"}, {"host-memory", "64MiB"}});
  const HeapStream stream(heap);
  Json found = Json::object();
  for (const std::size_t bytes : {std::size_t{512}, kMiB, 64 * kMiB}) {
    CUdeviceptr at = 0;
    Json& costs = found[std::to_string(bytes)];
    costs["tessera_ns"] = pair_cost(quick ? 10 : 20000, [&] {
      HEAP_MUST(tessera_malloc(heap, 0, bytes, stream, reinterpret_cast<tessera_address*>(&at)));
      HEAP_MUST(tessera_free(heap, at, stream));
    });
    costs["cuMemAlloc_ns"] = pair_cost(quick ? 2 : 100, [&] {
      MUST(cuMemAlloc(&at, bytes));
      MUST(cuMemFree(at));
    });
    costs["cuMemAllocAsync_ns"] = pair_cost(quick ? 2 : 2000, [&] {
      MUST(cuMemAllocAsync(&at, bytes, stream));
      MUST(cuMemFreeAsync(at, stream));
    });
    stream.wait();
  }
  return found;
}

// ---- moves -------------------------------------------------------------------------------------

struct Rates {
  double in = 0, out = 0, both = 0;  // bytes per second; both is the sum of the two directions
};

// The bare link: copies of one block's size, pinned memory, two streams.
Rates link(std::size_t bytes, std::size_t total) {
  const PinnedHost source(bytes), target(bytes);
  const PlainBlock a(bytes), b(bytes);
  const Stream in, out;
  const std::size_t copies = std::max<std::size_t>(total / bytes, 1);
  const auto seconds = [&](bool inbound, bool outbound) {
    const Watch watch;
    for (std::size_t i = 0; i < copies; ++i) {
      if (inbound) MUST(cuMemcpyHtoDAsync(a, source.as<void>(), bytes, in));
      if (outbound) MUST(cuMemcpyDtoHAsync(target.as<void>(), b, bytes, out));
    }
    in.wait();
    out.wait();
    return watch.seconds();
  };
  (void)seconds(true, true);
  const auto moved = static_cast<double>(copies * bytes);
  return {moved / seconds(true, false), moved / seconds(false, true), 2 * moved / seconds(true, true)};
}

class Blocks {
 public:
  Blocks(tessera_allocator* heap, std::size_t count, std::size_t bytes) : heap_(heap), stream_(heap) {
    for (std::size_t i = 0; i < count; ++i) {
      HEAP_MUST(tessera_malloc(heap, 0, bytes, stream_, &addresses_.emplace_back()));
      use(i, TESSERA_WRITE, bytes);
    }
    stream_.wait();
  }
  ~Blocks() {
    for (const tessera_address at : addresses_) (void)tessera_free(heap_, at, stream_);
  }
  // A use that the device has completed; a write sets the block's first bytes.
  void use(std::size_t which, tessera_access access, std::size_t bytes = 4096) {
    tessera_use use;
    HEAP_MUST(tessera_use_begin(heap_, &addresses_[which], 1, stream_, access, &use));
    const CUresult set = access == TESSERA_WRITE ? cuMemsetD8Async(addresses_[which], 1, bytes, stream_) : CUDA_SUCCESS;
    tessera_use_end(heap_, &use);
    must(set, "cuMemsetD8Async");
  }
  void prefetch(std::size_t which) { HEAP_MUST(tessera_prefetch(heap_, &addresses_[which % addresses_.size()], 1)); }
  void evict_all() { HEAP_MUST(tessera_evict(heap_, addresses_.data(), addresses_.size())); }
  void prefetch_all() { HEAP_MUST(tessera_prefetch(heap_, addresses_.data(), addresses_.size())); }
  void wait() { stream_.wait(); }
  std::size_t count() const { return addresses_.size(); }

 private:
  tessera_allocator* heap_;
  HeapStream stream_;
  std::vector<tessera_address> addresses_;
};

// The written bytes are always the same, and must be copied nevertheless.
const std::pair<std::string, std::string> kCopies{"fingerprints", "off"};

std::string mib(std::size_t bytes) { return std::to_string(bytes / kMiB) + "MiB"; }

// Room for all blocks in either tier, with enough margin that none is evicted ahead of need.
std::vector<std::pair<std::string, std::string>> roomy(std::size_t total) {
  const std::string enough = mib(total + total / 4 + 256 * kMiB);
  return {{"device-memory", enough}, {"host-memory", enough}, kCopies};
}

// All blocks out, then all in: each direction alone.
Json one_way(std::size_t block, std::size_t total, const Rates& bare) {
  const Heap heap(roomy(total));
  Blocks blocks(heap, total / block, block);
  std::vector<double> out, in;
  for (int turn = 0; turn < 3; ++turn) {
    for (std::size_t i = 0; i < blocks.count(); ++i) blocks.use(i, TESSERA_WRITE);
    blocks.wait();
    const Watch leaving;
    blocks.evict_all();
    out.push_back(static_cast<double>(total) / leaving.seconds());
    const Watch coming;
    blocks.prefetch_all();
    for (std::size_t i = 0; i < blocks.count(); ++i) blocks.use(i, TESSERA_WRITE);
    blocks.wait();
    in.push_back(static_cast<double>(total) / coming.seconds());
  }
  // The first round also pins host memory.
  const double best_out = *std::max_element(out.begin(), out.end());
  const double best_in = *std::max_element(in.begin(), in.end());
  return {{"out_bytes_per_second", out},
          {"in_bytes_per_second", in},
          {"share_of_link_out", best_out / bare.out},
          {"share_of_link_in", best_in / bare.in}};
}

// Cyclic use of twice as much as fits, writing each block: every block moves in both directions.
Json duplex(std::size_t block, std::size_t total, const Rates& bare) {
  const Heap heap({{"device-memory", mib(total / 2)}, {"host-memory", mib(2 * total)}, kCopies});
  Blocks blocks(heap, total / block, block);
  const auto round = [&] {
    for (std::size_t i = 0; i < blocks.count(); ++i) {
      blocks.prefetch(i + 1);
      blocks.use(i, TESSERA_WRITE);
    }
    blocks.wait();
  };
  round();
  const tessera_stats before = heap.stats();
  const Watch watch;
  for (int turn = 0; turn < 3; ++turn) round();
  const double seconds = watch.seconds();
  const tessera_stats after = heap.stats();
  const auto moved = static_cast<double>(after.bytes_in - before.bytes_in + after.bytes_out - before.bytes_out);
  return {{"bytes_in", after.bytes_in - before.bytes_in},
          {"bytes_out", after.bytes_out - before.bytes_out},
          {"seconds", seconds},
          {"bytes_per_second", moved / seconds},
          {"share_of_link_both_ways", moved / seconds / bare.both}};
}

Json moves(bool quick) {
  const Gpu gpu;
  Json found = Json::object();
  const std::size_t total = quick ? 64 * kMiB : 4096 * kMiB;
  for (const std::size_t block : {2 * kMiB, 32 * kMiB}) {
    const Rates bare = link(block, total);
    found[mib(block)] = {{"link_in", bare.in},
                         {"link_out", bare.out},
                         {"link_both_ways", bare.both},
                         {"one_way", one_way(block, total, bare)},
                         {"duplex", duplex(block, total, bare)}};
  }
  return found;
}

// ---- sleep and wake ----------------------------------------------------------------------------

Json sleep_and_wake(bool quick) {
  const Gpu gpu;
  const std::size_t total = quick ? 64 * kMiB : 8192 * kMiB, block = 32 * kMiB;
  const Heap heap(roomy(total));
  HEAP_MUST(tessera_tag_push(heap, "kv"));
  Blocks blocks(heap, total / block, block);
  HEAP_MUST(tessera_tag_pop(heap));
  Json turns = Json::array();
  for (int turn = 0; turn < 3; ++turn) {
    tessera_moved moved{};
    moved.size = sizeof(moved);
    for (std::size_t i = 0; i < blocks.count(); ++i) blocks.use(i, TESSERA_WRITE);
    blocks.wait();
    const Watch falling;
    HEAP_MUST(tessera_sleep(heap, "kv", &moved));
    const double asleep = falling.seconds();
    std::size_t free_bytes = 0, all = 0;
    MUST(cuMemGetInfo(&free_bytes, &all));
    const Watch waking;
    tessera_moved back{};
    back.size = sizeof(back);
    HEAP_MUST(tessera_wake(heap, "kv", &back));
    turns.push_back({{"sleep_seconds", asleep},
                     {"slept_bytes", moved.moved_bytes},
                     {"free_while_asleep", free_bytes},
                     {"wake_seconds", waking.seconds()},
                     {"woken_bytes", back.moved_bytes}});
  }
  return {{"bytes", total}, {"turns", turns}};
}

}  // namespace
}  // namespace first_light

int main(int argc, char** argv) {
  bool quick = false;
  std::string what;
  CLI::App app("Speed of the allocator through its C API");
  app.add_flag("--quick", quick, "little memory, a few rounds: a smoke test");
  app.add_option("what", what, "pairs, moves or sleep")->required()->check(CLI::IsMember({"pairs", "moves", "sleep"}));
  CLI11_PARSE(app, argc, argv);
  return first_light::print_result([&] {
    if (what == "pairs") return first_light::pairs(quick);
    if (what == "moves") return first_light::moves(quick);
    return first_light::sleep_and_wake(quick);
  });
}
