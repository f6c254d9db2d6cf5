// One lock, one ordered map of holes, best fit, coalescing of neighbours: the simplest reasonable design.
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "contender.hpp"

namespace tessera::bench {
namespace {

constexpr std::uint64_t kBase = std::uint64_t{1} << 40;
constexpr std::uint64_t kUnit = 512;

class BestFit final : public Contender {
 public:
  explicit BestFit(Bytes capacity) : end_(kBase + capacity.value()) {}

  // Takes a hole, or else addresses that were never used before.
  std::uint64_t allocate(Bytes bytes, unsigned) override {
    const std::uint64_t size = round_up(bytes, Bytes(kUnit)).value();
    const std::scoped_lock lock(mutex_);
    std::uint64_t address = top_;
    if (const auto hole = by_size_.lower_bound({size, 0}); hole != by_size_.end()) {
      const auto [length, start] = *hole;
      remove_hole(start, length);
      if (length > size) add_hole(start + size, length - size);
      address = start;
    } else if (end_ - top_ >= size) {
      top_ += size;
    } else {
      return 0;
    }
    live_.emplace(address, size);
    return address;
  }

  void free(std::uint64_t address, unsigned) override {
    const std::scoped_lock lock(mutex_);
    const auto block = live_.extract(address);
    std::uint64_t start = address, end = address + block.mapped();
    if (const auto after = holes_.find(end); after != holes_.end()) {
      end += after->second;
      remove_hole(after->first, after->second);
    }
    if (auto before = holes_.lower_bound(start); before != holes_.begin()) {
      before = std::prev(before);
      if (before->first + before->second == start) {
        start = before->first;
        remove_hole(before->first, before->second);
      }
    }
    add_hole(start, end - start);
  }

  std::optional<Bytes> reserved() const override { return Bytes(top_ - kBase); }

 private:
  void add_hole(std::uint64_t start, std::uint64_t length) {
    holes_.emplace(start, length);
    by_size_.emplace(length, start);
  }
  void remove_hole(std::uint64_t start, std::uint64_t length) {
    by_size_.erase({length, start});
    holes_.erase(start);
  }

  const std::uint64_t end_;
  std::mutex mutex_;
  std::uint64_t top_ = kBase;
  std::map<std::uint64_t, std::uint64_t> holes_;  // start to length
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;
  std::unordered_map<std::uint64_t, std::uint64_t> live_;
};

}  // namespace

std::unique_ptr<Contender> make_best_fit(Bytes capacity) { return std::make_unique<BestFit>(capacity); }

}  // namespace tessera::bench
