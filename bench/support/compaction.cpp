#include "compaction.hpp"

#include <cmath>
#include <random>
#include <utility>

namespace tessera::bench {
namespace {

// Blocks with log-uniform sizes.
class Churn {
 public:
  Churn(BlockLayers& layers, double largest) : layers_(layers), exponent_(9, largest) {}

  // Five allocations for every three frees while below `level` bytes; above it only frees.
  void run(int operations, Bytes level) {
    for (int i = 0; i < operations; ++i) {
      const Bytes bytes(static_cast<std::uint64_t>(std::exp2(exponent_(random_))));
      if (live_.empty() || (random_() % 8 < 5 && sum_ + bytes <= level)) {
        live_.push_back({layers_.allocate(bytes, TagId()), bytes});
        sum_ += bytes;
      } else {
        free_one();
      }
    }
  }
  void free_down_to(Bytes level) {
    while (sum_ > level) free_one();
  }
  const std::vector<LiveBlock>& live() const { return live_; }

 private:
  void free_one() {
    std::swap(live_[random_() % live_.size()], live_.back());
    layers_.free(live_.back().address);
    sum_ -= live_.back().bytes;
    live_.pop_back();
  }

  BlockLayers& layers_;
  std::mt19937_64 random_{3};
  std::uniform_real_distribution<double> exponent_;
  std::vector<LiveBlock> live_;
  Bytes sum_;
};

void measure_sizes(const char* blocks, double largest, int operations, Bytes full, std::vector<CompactionRow>& rows) {
  BlockLayers layers(full * 4);
  Churn churn(layers, largest);
  const auto look = [&](const char* when) {
    const BlockLayers::Trimmed trimmed = layers.trim(churn.live());
    rows.push_back({blocks, when, layers.occupation(churn.live()), trimmed});
  };
  churn.run(operations, full);
  look("full");
  churn.free_down_to(full / 2);
  look("half freed");
  churn.free_down_to(full / 10);
  look("nine tenths freed");
  churn.run(operations / 10, full / 10);
  look("and a tenth as many operations");
  churn.run(operations, full / 10);
  look("and as many operations");
}

}  // namespace

std::vector<CompactionRow> measure_compaction(int operations, Bytes full) {
  std::vector<CompactionRow> rows;
  measure_sizes("512 B to 64 MiB", 26, operations, full, rows);
  measure_sizes("512 B to 1 MiB", 20, operations, full, rows);
  return rows;
}

}  // namespace tessera::bench
