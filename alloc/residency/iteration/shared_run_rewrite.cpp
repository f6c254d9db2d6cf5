#include "residency/iteration/shared_run_rewrite.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

namespace tessera {
namespace {

// The moved blocks by the runs that they had, and the lives of the runs that they now share.
class Moves {
 public:
  explicit Moves(std::span<const MovedBlock> moved) {
    for (const MovedBlock& block : moved) {
      blocks_[block.run].push_back(&block);
      if (block.freed_before) lives_[block.to].begins.push_back(&block);
    }
  }

  // The block that a launch of this epoch used when it used the run; null: the block was not moved.
  const MovedBlock* block_in(std::uint64_t run, Epoch epoch) const {
    const auto found = blocks_.find(run);
    if (found == blocks_.end()) return nullptr;
    const auto later = std::ranges::lower_bound(found->second, epoch, {}, &MovedBlock::made);
    if (later == found->second.begin()) return nullptr;
    const MovedBlock* const block = *std::prev(later);
    return block->freed.is_never() || epoch < block->freed ? block : nullptr;
  }

  // The life of the shared run that began since the last call, if any. REQUIRES: epochs rise.
  const MovedBlock* begun(std::uint64_t run, Epoch epoch) {
    Lives& lives = lives_[run];
    const MovedBlock* last = nullptr;
    while (lives.next < lives.begins.size() && lives.begins[lives.next]->made < epoch)
      last = lives.begins[lives.next++];
    return last;
  }

 private:
  struct Lives {
    std::vector<const MovedBlock*> begins;
    std::size_t next = 0;
  };
  std::unordered_map<std::uint64_t, std::vector<const MovedBlock*>> blocks_;
  std::unordered_map<std::uint64_t, Lives> lives_;
};

}  // namespace

void rewrite_as_shared(LaunchRecord& record, std::span<const MovedBlock> moved) {
  Moves moves(moved);
  // No earlier launch used them.
  const auto begin = std::ranges::upper_bound(record.launches, moved.front().made, {}, &RecordedLaunch::epoch);
  const std::size_t kept = begin == record.launches.end() ? record.uses.size() : begin->first;
  std::vector<RecordedUse> uses(record.uses.begin(), record.uses.begin() + static_cast<std::ptrdiff_t>(kept));
  uses.reserve(record.uses.size());
  std::unordered_map<std::uint64_t, std::size_t> shared;  // per launch: the index into `uses`, by name
  for (RecordedLaunch& step : std::span(begin, record.launches.end())) {
    const std::size_t first = uses.size();
    shared.clear();
    for (RecordedUse use : record.uses_of(step)) {
      if (const MovedBlock* const block = moves.block_in(use.run, step.epoch)) {
        const auto [known, is_new] = shared.try_emplace(block->to, uses.size());
        if (!is_new) {
          uses[known->second].writes |= use.writes;
          continue;
        }
        use.run = block->to;
        use.bytes = block->bytes;
        const MovedBlock* const begun = moves.begun(block->to, step.epoch);
        use.fresh = begun != nullptr;
        use.freed_at = begun == nullptr ? 0 : record.last_before(*begun->freed_before);
      }
      uses.push_back(use);
    }
    const auto own = std::span(uses).subspan(first);
    std::ranges::stable_sort(own, {}, &RecordedUse::role);
    const auto small = std::ranges::find_if(own, [](const RecordedUse& use) { return use.role().small; });
    step.first = static_cast<std::uint32_t>(first);
    step.parts = static_cast<std::uint32_t>(small - own.begin());
    step.small = static_cast<std::uint32_t>(own.end() - small);
    step.signature = signature_of(step.work, own.first(step.parts), [](const RecordedUse& use) { return use.bytes; });
  }
  record.uses = std::move(uses);
}

}  // namespace tessera
