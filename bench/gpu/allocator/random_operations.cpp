// Random blocks, kernels and hints from several threads, on a heap that does not fit into device memory: kernels write
// known contents, and later kernels count the words that differ.
#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <random>
#include <thread>

#include "heap.hpp"

namespace first_light {
namespace {

constexpr unsigned kGrid = 8, kThreadsOfBlock = 128;
constexpr int kThreads = 4;
constexpr std::size_t kMostLive = 96 * kMiB;  // per thread

struct Plan {
  std::uint64_t operations = 1000000;
  double seconds = 45;
  unsigned seed = 1;
};

struct Tally {
  std::atomic<std::uint64_t> done{0}, wrong{0}, busy{0};
};

struct Block {
  tessera_address address;
  std::size_t bytes;
  std::uint32_t seed;
  bool pinned;
};

// The operations of one thread. They depend only on its seed, except where a hint finds a block busy.
class Player {
 public:
  Player(Gpu& gpu, tessera_allocator* heap, unsigned seed, Tally& tally)
      : gpu_(gpu), heap_(heap), random_(seed), tally_(tally) {}

  void play(std::uint64_t operations, double seconds) {
    const HeapStream stream(heap_);
    stream_ = stream;
    fill_ = gpu_.plain("fill_words");
    check_ = gpu_.plain("check_words");
    const PinnedHost counts(kGrid * kThreadsOfBlock * sizeof(std::uint64_t));
    MUST(cuMemHostGetDevicePointer(&counts_, counts.as<void>(), 0));
    std::fill_n(counts.as<std::uint64_t>(), kGrid * kThreadsOfBlock, 0);
    const Watch watch;
    for (std::uint64_t i = 0; i < operations && watch.seconds() < seconds; ++i) {
      one();
      ++tally_.done;
      if (i % 1024 == 1023) stream.wait();
    }
    while (!blocks_.empty()) free_block(0);
    stream.wait();
    for (unsigned i = 0; i < kGrid * kThreadsOfBlock; ++i) {
      tally_.wrong += counts.as<std::uint64_t>()[i];
    }
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  void one() {
    const std::size_t choice = below(100);
    if (blocks_.size() < 4 || (choice < 6 && live_ < kMostLive)) return make_block();
    const std::size_t which = below(blocks_.size());
    if (choice < 12) return free_block(which);
    if (choice < 60) return check(blocks_[which]);
    if (choice < 90) return write(blocks_[which]);
    hint(blocks_[which], choice);
  }

  std::size_t size() {
    const std::size_t kind = below(100);
    if (kind < 60) return 512 * (1 + below(256));       // up to 128 KiB
    if (kind < 95) return 64 * 1024 * (1 + below(64));  // up to 4 MiB
    return kMiB * (32 + below(9));                      // large pages and a remainder
  }

  void make_block() {
    Block block{0, size(), 0, false};
    HEAP_MUST(tessera_malloc(heap_, 0, block.bytes, stream_, &block.address));
    live_ += block.bytes;
    blocks_.push_back(block);
    write(blocks_.back());
  }

  void free_block(std::size_t which) {
    Block& block = blocks_[which];
    check(block);
    if (block.pinned) HEAP_MUST(tessera_unpin(heap_, block.address));
    HEAP_MUST(tessera_free(heap_, block.address, stream_));
    live_ -= block.bytes;
    block = blocks_.back();
    blocks_.pop_back();
  }

  template <class Queue>
  void use(const Block& block, tessera_access access, Queue queue) {
    tessera_use use;
    HEAP_MUST(tessera_use_begin(heap_, &block.address, 1, stream_, access, &use));
    const CUresult queued = queue();
    tessera_use_end(heap_, &use);
    must(queued, "cuLaunchKernel");
  }

  void write(Block& block) {
    block.seed = static_cast<std::uint32_t>(random_());
    use(block, TESSERA_WRITE, [&] {
      return launch(fill_, kGrid, kThreadsOfBlock, stream_, block.address, std::uint64_t{block.bytes / 4}, block.seed);
    });
  }

  void check(const Block& block) {
    use(block, TESSERA_READ, [&] {
      return launch(check_, kGrid, kThreadsOfBlock, stream_, block.address, std::uint64_t{block.bytes / 4}, block.seed,
                    counts_);
    });
  }

  void hint(Block& block, std::size_t choice) {
    if (choice < 94) {
      const tessera_result left = tessera_evict(heap_, &block.address, 1);
      if (left == TESSERA_BUSY)
        ++tally_.busy;
      else
        heap_must(left, "tessera_evict");
    } else if (choice < 97) {
      HEAP_MUST(tessera_prefetch(heap_, &block.address, 1));
    } else if (choice < 99) {
      turn_pin(block);
    } else if (below(50) == 0) {
      HEAP_MUST(tessera_trim(heap_));
    }
  }

  // Small blocks only, and one at a time: the pinned block must fit next to the blocks in use.
  void turn_pin(Block& block) {
    if (block.pinned) {
      HEAP_MUST(tessera_unpin(heap_, block.address));
      block.pinned = false;
    } else if (block.bytes < kMiB) {
      for (Block& other : blocks_) {
        if (other.pinned) return;
      }
      HEAP_MUST(tessera_pin(heap_, block.address));
      block.pinned = true;
    }
  }

  Gpu& gpu_;
  tessera_allocator* heap_;
  std::mt19937 random_;
  Tally& tally_;
  std::vector<Block> blocks_;
  std::size_t live_ = 0;
  CUstream stream_ = nullptr;
  CUfunction fill_ = nullptr, check_ = nullptr;
  CUdeviceptr counts_ = 0;
};

Json play(const Plan& plan) {
  Gpu gpu;
  (void)gpu.plain("fill_words");  // loads the kernels once, before threads start
  // All kernels end by themselves: a wait for one is never given up, however slow or busy the machine is.
  const Heap heap(
      {{"device-memory", "256MiB"}, {"host-memory", "512MiB"}, {"patience", "600000"}, {"log-level", "error"}});
  Tally tally;
  std::vector<std::string> errors(kThreads);
  const Watch watch;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      try {
        gpu.enter();
        Player(gpu, heap, plan.seed * kThreads + i, tally).play(plan.operations / kThreads, plan.seconds);
      } catch (const HeapFailure& failure) {
        errors[i] = failure.call + ": " + failure.message;
      } catch (const Failure& failure) {
        errors[i] = failure.call + ": " + name_of(failure.code);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const tessera_stats stats = heap.stats();
  Json found = {{"operations", tally.done.load()},
                {"wrong", tally.wrong.load()},
                {"threads", kThreads},
                {"seed", plan.seed},
                {"evictions", stats.evictions},
                {"fetches", stats.fetches},
                {"bytes_in", stats.bytes_in},
                {"bytes_out", stats.bytes_out},
                {"busy_hints", tally.busy.load()},
                {"play_seconds", watch.seconds()}};
  for (const std::string& error : errors) {
    if (!error.empty()) throw HeapFailure{"random operations", error + " after " + found.dump()};
  }
  return found;
}

}  // namespace
}  // namespace first_light

int main(int argc, char** argv) {
  first_light::Plan plan;
  CLI::App app("Random operations on a heap larger than its device memory");
  app.add_option("--operations", plan.operations, "number of operations of all threads");
  app.add_option("--seconds", plan.seconds, "at most");
  app.add_option("--seed", plan.seed, "another program");
  CLI11_PARSE(app, argc, argv);
  return first_light::print_result([&] { return first_light::play(plan); });
}
