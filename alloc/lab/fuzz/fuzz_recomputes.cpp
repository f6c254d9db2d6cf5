// Blocks of a fuzz program that can be recomputed: without an input, or from another block.
//
// A callback called for bytes that no longer exist is a failure; one that writes half of the bytes and fails is an
// injected fault.
#include <algorithm>
#include <memory>

#include <fmt/core.h>

#include "lab/fuzz/fuzz_player.hpp"

namespace tessera {

// How to recompute a block, as of when the callback was set.
struct FuzzPlayer::Recipe {
  std::uint32_t slot = 0;
  Stamp stamp = 0;
  std::uint32_t from = 0;  // the slot that it reads, if that block is unchanged
  Stamp from_stamp = 0;    // 0: reads nothing
  Nanoseconds time;
  std::uint32_t failures = 0;  // before it succeeds
};

void FuzzPlayer::set_recompute(const FuzzOp& op) {
  FuzzBlock* const block = block_at(op);
  if (block == nullptr || block->stamp == 0 || !block->parts.empty()) return;
  Recipe recipe{.slot = op.slots[0], .stamp = block->stamp, .time = op.time};
  const auto devices = static_cast<std::uint32_t>(setup_.devices);
  const FuzzBlock* const from = block_at(op, 1);
  // Only from a later slot: two blocks that are computed from each other could never be restored.
  if (from != nullptr && op.slots[1] > op.slots[0] && op.slots[1] % devices == op.slots[0] % devices) {
    recipe.from = op.slots[1];
    recipe.from_stamp = from->stamp;
  }
  if (op.variant % 4 == 0) recipe.failures = op.nth;
  const Nanoseconds cost(op.variant < 4 ? 1 : std::uint64_t{1} << 50);
  const auto work = [this, recipe = std::make_shared<Recipe>(recipe)](Address, Bytes, StreamId on) {
    if (recipe->failures == 0 || calm_) return recompute(*recipe, recipe->stamp, on);
    --recipe->failures;
    ++callbacks_failed_;
    const Status half = recompute(*recipe, ++last_stamp_, on);
    return half.is_ok() ? Status(Code::kDriver, "the callback fails") : half;
  };
  block->remade |= passed("set_recompute", machine_.allocator().hints().set_recompute(block->address, work, cost));
}

Status FuzzPlayer::recompute(const Recipe& recipe, Stamp leaves, StreamId on) {
  const FuzzBlock& block = blocks_[recipe.slot];
  if (block.stamp != recipe.stamp) {
    fail(fmt::format("a callback was called for a previous generation of block {}", recipe.slot));
  }
  std::vector<StampUse> uses{{block.address, block.bytes, 0, leaves}};
  FuzzBlock& from = blocks_[recipe.from];
  AnnouncedUse announced;
  const bool reads = recipe.from_stamp != 0 && from.stamp == recipe.from_stamp;
  if (reads) {
    uses.push_back({from.address, from.bytes, from.stamp, 0});
    follow(on, from.writer);
    TESSERA_TRY(machine_.allocator().uses().begin({&from.address, 1}, 0, on, "recompute", announced));
  }
  const Status queued = machine_.driver().run_kernel(on, recipe.time, uses);
  machine_.allocator().uses().end(announced);
  const auto own = std::ranges::find(streams_, on);
  if (own != streams_.end()) {
    if (reads) from.users.set(static_cast<std::size_t>(own - streams_.begin()));
  } else {
    passed("synchronize", machine_.sim().synchronize(on));  // the program cannot order this stream
  }
  return queued;
}

}  // namespace tessera
