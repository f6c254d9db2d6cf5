#include "planning/shared_runs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tessera {
namespace {

constexpr double kSteepness = 0.01;    // fraction of the peak: with this much less held, a moment counts e times less
constexpr double kAlways = 0.01;       // additional weight of a full moment, so that no lifetime grows without need
constexpr std::uint64_t kWorth = 200;  // a plan must save at least the peak divided by this

using Numbers = std::vector<std::uint32_t>;
using Blocks = std::span<const PagedBlock>;

Bytes in_pages(Bytes bytes) { return round_up(bytes, kBasePage); }

Bytes bytes_of(Blocks blocks, const Numbers& run, Bytes alignment) {
  Bytes sum;
  for (const std::uint32_t number : run) sum += round_up(blocks[number].bytes, alignment);
  return sum;
}

// The bytes held at each step.
class Curve {
 public:
  Curve(std::uint64_t steps, Bytes beside) : change_(steps + 1), beside_(beside) {}
  void add(Bytes bytes, std::uint64_t first, std::uint64_t last) {
    change_[first] += static_cast<std::int64_t>(bytes.value());
    change_[last] -= static_cast<std::int64_t>(bytes.value());
  }
  std::vector<Bytes> held() const {
    std::vector<Bytes> held;
    auto now = static_cast<std::int64_t>(beside_.value());
    for (const std::int64_t change : change_) held.push_back(Bytes(static_cast<std::uint64_t>(now += change)));
    return held;
  }

 private:
  std::vector<std::int64_t> change_;
  Bytes beside_;
};

std::uint64_t steps_of(Blocks blocks) {
  std::uint64_t steps = 0;
  for (const PagedBlock& block : blocks) steps = std::max(steps, block.end + 1);
  return steps;
}

std::vector<Bytes> held_by(Blocks blocks, Bytes beside, const std::vector<Numbers>& runs, Bytes alignment) {
  Curve curve(steps_of(blocks), beside);
  std::vector<bool> shares(blocks.size());
  for (const Numbers& run : runs) {
    std::uint64_t last = 0;
    for (const std::uint32_t number : run) {
      shares[number] = true;
      last = std::max(last, blocks[number].end);
    }
    curve.add(in_pages(bytes_of(blocks, run, alignment)), blocks[run.front()].begin, last);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!shares[i]) curve.add(in_pages(blocks[i].bytes), blocks[i].begin, blocks[i].end);
  }
  return curve.held();
}

// Prefix sums of the weight of holding a page at each step.
std::vector<double> sums_of_weights(std::span<const Bytes> held) {
  const auto peak = static_cast<double>(std::ranges::max(held).value());
  std::vector<double> sums{0};
  for (const Bytes bytes : held) {
    const double full = static_cast<double>(bytes.value()) / peak;
    sums.push_back(sums.back() + std::exp((full - 1) / kSteepness) + kAlways * full);
  }
  return sums;
}

// The blocks that may share and are live at the fullest moment at which any such block is: per kind, in
// allocation order.
std::map<std::uint64_t, Numbers> rows_at_fullest(Blocks blocks, std::span<const Bytes> held) {
  std::vector<std::int32_t> change(held.size() + 1);
  for (const PagedBlock& block : blocks) {
    if (!block.may_share) continue;
    ++change[block.begin];
    --change[block.end];
  }
  std::size_t fullest = 0;
  bool any = false;
  std::int32_t now = 0;
  for (std::size_t step = 0; step < held.size(); ++step) {
    now += change[step];
    if (now == 0 || (any && held[step] <= held[fullest])) continue;
    fullest = step;
    any = true;
  }
  std::map<std::uint64_t, Numbers> rows;
  for (std::uint32_t i = 0; any && i < blocks.size(); ++i) {
    const PagedBlock& block = blocks[i];
    if (block.may_share && block.begin <= fullest && fullest < block.end) rows[block.kind].push_back(i);
  }
  return rows;
}

// Divides a row of blocks into the parts with the least sum of pages times weighted lifetime.
class RowCut {
 public:
  RowCut(Blocks blocks, std::span<const double> weights, const SharingLimits& limits)
      : blocks_(blocks), weights_(weights), limits_(limits) {}

  std::vector<Numbers> parts_of(const Numbers& row) const {
    std::vector<Best> best{{0, 0}};  // for each prefix of the row
    for (std::size_t end = 1; end <= row.size(); ++end) best.push_back(best_end(row, end, best));
    std::vector<Numbers> parts;
    for (std::size_t end = row.size(); end > 0; end = best[end].begin) {
      parts.emplace_back(row.begin() + static_cast<std::ptrdiff_t>(best[end].begin),
                         row.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return parts;
  }

 private:
  struct Best {
    double weight;
    std::size_t begin;  // of the prefix's last part
  };

  Best best_end(const Numbers& row, std::size_t end, std::span<const Best> best) const {
    Best found{std::numeric_limits<double>::infinity(), end - 1};
    std::uint64_t last = 0;
    Bytes bytes;
    for (std::size_t begin = end; begin-- > 0;) {
      const PagedBlock& block = blocks_[row[begin]];
      bytes += round_up(block.bytes, limits_.alignment);
      if (begin + 1 < end && (bytes > limits_.run || end - begin > limits_.blocks)) break;
      last = std::max(last, block.end);
      const double life = weights_[last] - weights_[block.begin];
      const double weight = best[begin].weight + static_cast<double>(in_pages(bytes) / kBasePage) * life;
      if (weight < found.weight) found = {weight, begin};
    }
    return found;
  }

  const Blocks blocks_;
  const std::span<const double> weights_;
  const SharingLimits& limits_;
};

}  // namespace

SharedRuns share_runs(Blocks blocks, Bytes beside, const SharingLimits& limits) {
  SharedRuns shared;
  if (blocks.empty()) return shared;
  const std::vector<Bytes> alone = held_by(blocks, beside, {}, limits.alignment);
  shared.alone = shared.held = std::ranges::max(alone);
  const std::vector<double> weights = sums_of_weights(alone);
  const RowCut cut(blocks, weights, limits);
  std::vector<Numbers> runs;
  for (const auto& [kind, row] : rows_at_fullest(blocks, alone)) {
    for (Numbers& part : cut.parts_of(row)) {
      if (part.size() > 1) runs.push_back(std::move(part));
    }
  }
  const Bytes held = std::ranges::max(held_by(blocks, beside, runs, limits.alignment));
  if (held + shared.alone / kWorth > shared.alone) return shared;
  shared.held = held;
  shared.runs = std::move(runs);
  return shared;
}

}  // namespace tessera
