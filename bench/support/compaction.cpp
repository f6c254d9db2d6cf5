#include "compaction.hpp"

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "contender.hpp"
#include "must.hpp"

namespace tessera::bench {
namespace {

// An allocator under test. The blocks of a workload depend on neither.
struct Subject {
  std::function<Address(Bytes)> allocate;
  std::function<void(Address)> free;
};

// Blocks with log-uniform sizes.
class Churn {
 public:
  Churn(Subject subject, double largest) : subject_(std::move(subject)), exponent_(9, largest) {}

  // Five allocations for every three frees while below `level` bytes; above it only frees.
  void run(int operations, Bytes level) {
    for (int i = 0; i < operations; ++i) {
      const Bytes bytes(static_cast<std::uint64_t>(std::exp2(exponent_(random_))));
      if (live_.empty() || (random_() % 8 < 5 && sum_ + bytes <= level)) {
        live_.push_back({subject_.allocate(bytes), bytes});
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
    subject_.free(live_.back().address);
    sum_ -= live_.back().bytes;
    live_.pop_back();
  }

  const Subject subject_;
  std::mt19937_64 random_{3};
  std::uniform_real_distribution<double> exponent_;
  std::vector<LiveBlock> live_;
  Bytes sum_;
};

Bytes used_by(const std::vector<LiveBlock>& live) {
  Bytes used;
  for (const LiveBlock& block : live) used += block.bytes;
  return used;
}

// The base pages that the blocks touch: what a best fit that gave every other page back would keep.
Bytes pages_of(const std::vector<LiveBlock>& live) {
  std::set<std::uint64_t> pages;
  for (const LiveBlock& block : live) {
    const std::uint64_t last = (block.address + (block.bytes - Bytes(1))).value() / kBasePage.value();
    for (std::uint64_t page = block.address.value() / kBasePage.value(); page <= last; ++page) pages.insert(page);
  }
  return kBasePage * pages.size();
}

void measure_sizes(const char* blocks, double largest, int operations, Bytes full, std::vector<CompactionRow>& rows) {
  BlockLayers layers(full * 4);
  const std::unique_ptr<Contender> best_fit = make_best_fit(full * 4);
  Churn ours(
      {[&](Bytes bytes) { return layers.allocate(bytes, TagId()); }, [&](Address address) { layers.free(address); }},
      largest);
  Churn theirs({[&](Bytes bytes) { return Address(best_fit->allocate(bytes, 0)); },
                [&](Address address) { best_fit->free(address.value(), 0); }},
               largest);
  const auto look = [&](const char* when) {
    const BlockLayers::Trimmed trimmed = layers.trim(ours.live());
    rows.push_back({blocks, when, layers.occupation(ours.live()), trimmed, pages_of(theirs.live())});
    must(rows.back().occupation.used == used_by(theirs.live()), "both have the same blocks");
  };
  for (Churn* const each : {&ours, &theirs}) each->run(operations, full);
  look("full");
  for (Churn* const each : {&ours, &theirs}) each->free_down_to(full / 2);
  look("half freed");
  for (Churn* const each : {&ours, &theirs}) each->free_down_to(full / 10);
  look("nine tenths freed");
  for (Churn* const each : {&ours, &theirs}) each->run(operations / 10, full / 10);
  look("and a tenth as many operations");
  for (Churn* const each : {&ours, &theirs}) each->run(operations, full / 10);
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
