// Rewrites a history of launches as if blocks had shared runs from the start.
#include <algorithm>
#include <iterator>

#include "residency/iteration/launch_history.hpp"

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

void LaunchHistory::rewrite(std::span<const MovedBlock> moved) {
  Moves moves(moved);
  // No earlier launch used them.
  const auto begin = std::ranges::upper_bound(steps_, moved.front().made, {}, &Step::epoch);
  const std::size_t kept = begin == steps_.end() ? mentions_.size() : begin->first;
  std::vector<Mention> mentions(mentions_.begin(), mentions_.begin() + static_cast<std::ptrdiff_t>(kept));
  mentions.reserve(mentions_.size());
  std::unordered_map<std::uint64_t, std::size_t> shared;  // per launch: the index into `mentions`, by name
  for (Step& step : std::span(begin, steps_.end())) {
    const std::size_t first = mentions.size();
    shared.clear();
    for (Mention mention : mentions_of(step)) {
      if (const MovedBlock* const block = moves.block_in(mention.run, step.epoch)) {
        const auto [known, is_new] = shared.try_emplace(block->to, mentions.size());
        if (!is_new) {
          mentions[known->second].writes |= mention.writes;
          continue;
        }
        mention.run = block->to;
        mention.bytes = block->bytes;
        const MovedBlock* const begun = moves.begun(block->to, step.epoch);
        mention.fresh = begun != nullptr;
        mention.freed = begun == nullptr ? Epoch() : *begun->freed_before;
      }
      mentions.push_back(mention);
    }
    const auto own = std::span(mentions).subspan(first);
    std::ranges::stable_sort(own, {}, &Mention::role);
    const auto small = std::ranges::find_if(own, [](const Mention& mention) { return mention.role().small; });
    step.first = static_cast<std::uint32_t>(first);
    step.parts = static_cast<std::uint32_t>(small - own.begin());
    step.small = static_cast<std::uint32_t>(own.end() - small);
    step.signature =
        signature_of(step.work, own.first(step.parts), [](const Mention& mention) { return mention.bytes; });
  }
  mentions_ = std::move(mentions);
  freed_.clear();
  for (const MovedBlock& block : moved) {
    Epoch& freed = freed_[block.to];
    freed = std::max(freed, block.freed);
  }
}

}  // namespace tessera
