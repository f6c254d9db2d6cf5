#include "two_lives.hpp"

#include <cmath>
#include <functional>
#include <queue>
#include <random>
#include <utility>

namespace tessera::bench {
namespace {

constexpr double kLonger = 20;  // ratio of long to short lifetimes; one block in this many is long-lived
constexpr int kSamples = 32;

struct Sizes {
  const char* name;
  double least, largest;  // as powers of two; sizes are log-uniform
  int short_life;         // mean short lifetime, in allocations; half of the live bytes are short-lived
};

struct Death {
  double time = 0;
  std::size_t block = 0;
  bool operator>(const Death& other) const { return time > other.time; }
};

// The live blocks, each at a fixed index, so that its free can find it.
class Living {
 public:
  explicit Living(BlockLayers& layers) : layers_(layers) {}
  std::size_t add(Bytes bytes, TagId tag) {
    std::size_t place = blocks_.size();
    if (free_.empty()) {
      blocks_.emplace_back();
    } else {
      place = free_.back();
      free_.pop_back();
    }
    blocks_[place] = {layers_.allocate(bytes, tag), bytes};
    return place;
  }
  void remove(std::size_t place) {
    layers_.free(blocks_[place].address);
    blocks_[place] = {};
    free_.push_back(place);
  }
  std::vector<LiveBlock> all() const {
    std::vector<LiveBlock> all;
    for (const LiveBlock& block : blocks_) {
      if (block.bytes) all.push_back(block);
    }
    return all;
  }

 private:
  BlockLayers& layers_;
  std::vector<LiveBlock> blocks_;
  std::vector<std::size_t> free_;
};

void add(Occupation& sum, const Occupation& one) {
  sum.used += one.used;
  sum.held += one.held;
  sum.in_slabs += one.in_slabs;
  sum.repacked += one.repacked;
  sum.moved += one.moved;
  sum.windows += one.windows;
  sum.base_pages += one.base_pages;
}

Occupation mean_of(const Occupation& sum, int samples) {
  const auto count = static_cast<std::uint64_t>(samples);
  const auto part = [count](Bytes bytes) { return Bytes(bytes.value() / count); };
  return {part(sum.used),  part(sum.held),      part(sum.in_slabs),    part(sum.repacked),
          part(sum.moved), sum.windows / count, sum.base_pages / count};
}

struct Sum {
  Occupation occupation;
  int samples = 0;
  void take(const BlockLayers& layers, const Living& living) {
    add(occupation, layers.occupation(living.all()));
    ++samples;
  }
};

// Short lifetimes end at random, or all together at the end of a phase of twice their mean.
enum class Ends : std::uint8_t { kAtRandom, kTogether };

void live_on(const Sizes& sizes, bool told_apart, Ends ends, int lives, std::vector<LivesRow>& rows) {
  BlockLayers layers(64_GiB);
  Living living(layers);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(sizes.least, sizes.largest);
  std::exponential_distribution<double> life(1.0 / sizes.short_life);
  std::priority_queue<Death, std::vector<Death>, std::greater<>> deaths;
  const auto bury = [&](int now) {
    for (; !deaths.empty() && deaths.top().time <= now; deaths.pop()) living.remove(deaths.top().block);
  };
  const int phase = 2 * sizes.short_life, allocations = sizes.short_life * lives;
  Sum before, after;  // the frees of one moment; with random ends the two do not differ
  for (int now = 1; now <= allocations; ++now) {
    const bool is_long = random() % static_cast<std::uint64_t>(kLonger) == 0;
    const Bytes bytes(static_cast<std::uint64_t>(std::exp2(exponent(random))));
    const TagId tag(told_apart ? 1 + static_cast<std::uint32_t>(is_long) : 1);
    const double drawn = now + life(random) * (is_long ? kLonger : 1);
    const double end_of_phase = (now + phase - 1) / phase * phase;
    deaths.push({is_long || ends == Ends::kAtRandom ? drawn : end_of_phase, living.add(bytes, tag)});
    const bool look = now > allocations / 2 && now % (phase * (lives / 4 / kSamples + 1)) == 0;
    if (look) before.take(layers, living);
    bury(now);
    if (look) after.take(layers, living);
  }
  const std::string placed = told_apart ? "apart" : "together";
  const auto keep = [&](const char* when, const Sum& sum) {
    rows.push_back({sizes.name, when, placed, mean_of(sum.occupation, sum.samples)});
  };
  if (ends == Ends::kAtRandom) return keep("at random", before);
  keep("in phases, before an end", before);
  keep("in phases, after an end", after);
}

}  // namespace

std::vector<LivesRow> measure_two_lives(int lives) {
  std::vector<LivesRow> rows;
  for (const Sizes& sizes : {Sizes{"512 B to 64 MiB", 9, 26, 720}, Sizes{"1 to 64 MiB", 20, 26, 256},
                             Sizes{"512 B to 1 MiB", 9, 20, 3600}, Sizes{"512 B to 1 MiB, tenfold", 9, 20, 36000}}) {
    for (const Ends ends : {Ends::kAtRandom, Ends::kTogether}) {
      for (const bool told_apart : {false, true}) live_on(sizes, told_apart, ends, lives, rows);
    }
  }
  return rows;
}

}  // namespace tessera::bench
