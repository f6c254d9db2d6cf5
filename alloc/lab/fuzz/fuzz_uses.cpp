// How a fuzz program uses its blocks: single uses, and loops that are learned and planned.
#include <algorithm>
#include <utility>

#include "lab/fuzz/fuzz_player.hpp"

namespace tessera {

// The operands on one device, without duplicates.
std::vector<FuzzBlock*> FuzzPlayer::operands_of(const FuzzOp& op) {
  std::vector<FuzzBlock*> blocks;
  const auto devices = static_cast<std::uint32_t>(setup_.devices);
  for (std::size_t i = 0; i < op.operands; ++i) {
    FuzzBlock* const block = block_at(op, i);
    if (block == nullptr || op.slots[i] % devices != op.slots[0] % devices) continue;
    if (std::find(blocks.begin(), blocks.end(), block) == blocks.end()) blocks.push_back(block);
  }
  return blocks;
}

// The `n`th slot of the same device after the operation's first slot.
FuzzBlock& FuzzPlayer::block_behind(const FuzzOp& op, std::uint32_t n) {
  const auto devices = static_cast<std::uint32_t>(setup_.devices);
  return blocks_[(op.slots[0] + n * devices) % (FuzzProgram::kSlots / devices * devices)];
}

// Blocks of the device that other words of a launch may seem to name, and that its kernel does not access.
std::vector<Address> FuzzPlayer::doubtful_words(const std::vector<FuzzBlock*>& used, const FuzzOp& op) {
  std::vector<Address> words;
  for (std::uint32_t i = 1; i <= 4; ++i) {
    FuzzBlock& block = block_behind(op, i);
    if (block && std::find(used.begin(), used.end(), &block) == used.end()) words.push_back(block.address + 8_B);
  }
  return words;
}

void FuzzPlayer::use(const FuzzOp& op, bool blocking) {
  const std::vector<FuzzBlock*> blocks = operands_of(op);
  if (blocks.empty()) return;
  use(blocks, std::min<std::size_t>(op.written, blocks.size()), op, number_of(op), blocking);
}

bool FuzzPlayer::is_on(DeviceId device, const FuzzBlock& block) const {
  const auto slot = static_cast<std::size_t>(&block - blocks_.data());
  const auto devices = static_cast<std::size_t>(setup_.devices);
  const std::size_t in_row = slot < FuzzProgram::kSlots ? slot : slot - FuzzProgram::kSlots;
  return in_row % devices == device.value();
}

// A copy between devices, as a blocking call: a device cannot observe another device's work. If all blocks are of one
// other device, the stream is not one of that device; with blocks of several devices the allocator detects this itself.
// Host memory is not reached from a device without a heap (docs/decisions/0051-host-memory-behind-several-devices.md).
void FuzzPlayer::use_across(const FuzzOp& op) {
  if (setup_.host_frames && machine_.allocator().heaps().made(device_of(number_of(op))) == nullptr) return;
  std::vector<FuzzBlock*> blocks;
  for (std::size_t i = 0; i < op.operands; ++i) {
    FuzzBlock* const block = block_at(op, i);
    if (block != nullptr && std::find(blocks.begin(), blocks.end(), block) == blocks.end()) blocks.push_back(block);
  }
  if (blocks.empty()) return;
  std::vector<FuzzBlock> before;
  for (const FuzzBlock* block : blocks) before.push_back(*block);
  if (!use(blocks, std::min<std::size_t>(op.written, blocks.size()), op, number_of(op), true)) return;
  for (std::size_t i = 0; i < blocks.size(); ++i) {  // its work is over on every stream
    blocks[i]->writer = before[i].writer;
    blocks[i]->users = before[i].users;
  }
}

// As a kernel that reads its block addresses from a table written by the kernel before it: no block was evicted in
// between. The engine waits for it while queued work makes progress. Behind work that does not end such a kernel may
// fault, so the program does not launch one there.
void FuzzPlayer::use_unseen(const FuzzOp& op) {
  const std::vector<FuzzBlock*> blocks = operands_of(op);
  const std::uint32_t stream = number_of(op);
  if (blocks.empty() || !use(blocks, blocks.size(), op, stream, false) || is_held_up(stream)) return;
  std::vector<StampUse> uses;
  for (FuzzBlock* block : blocks) {
    const FuzzPlace place = place_in(*block, op.variant);
    const Stamp before = std::exchange(*place.stamp, ++last_stamp_);
    uses.push_back({place.address, place.bytes, before, *place.stamp});
  }
  AnnouncedUse announced;
  machine_.allocator().unnamed_uses().begin(device_of(stream), streams_[stream], "unseen", announced);
  passed("launch", machine_.driver().run_kernel(streams_[stream], op.time, std::move(uses)));
  machine_.allocator().uses().end(announced);
}

// As a kernel that got an address long ago, in a way that no call shows. The block may be anywhere. On a GPU the
// context would end with the fault; here the program goes on as if that kernel had not been launched, as long as it did
// nothing. It runs behind all launches so far: what a launch fetches on demand is mapped while it is copied
// (docs/decisions/0027-unannounced-work.md). Where injected failures keep frames from being mapped twice, no such
// kernel is safe; the bytes of a block with a callback are made, not copied, without regard to what was written unseen.
void FuzzPlayer::use_alone(const FuzzOp& op) {
  FuzzBlock* const block = block_at(op);
  const std::uint32_t stream = number_of(op);
  note_struck();
  if (block == nullptr || block->remade || driver_struck_ > 0) return;
  for (std::uint32_t other = 0; other < streams_.size(); ++other) {
    if (is_held_up(other)) return;
    if (device_of(other) == device_of(stream)) follow(stream, other);
  }
  const FuzzPlace place = place_in(*block, op.variant);
  const bool writes = op.variant % 2 == 0;
  const Stamp leaves = writes ? ++last_stamp_ : 0;
  AnnouncedUse announced;
  machine_.allocator().unnamed_uses().begin(device_of(stream), streams_[stream], "alone", announced);
  const Result<bool> done =
      machine_.driver().try_kernel(streams_[stream], {place.address, place.bytes, *place.stamp, leaves});
  machine_.allocator().uses().end(announced);
  if (!passed("launch", done.status())) return;
  ++alone_;
  faulted_ += done.value() ? 0 : 1;
  digest_ = (digest_ ^ static_cast<std::uint64_t>(done.value())) * 0x100000001b3;
  if (!done.value()) return;
  if (writes) {
    *place.stamp = leaves;
    block->writer = stream;
    block->users.reset();
  }
  block->users.set(stream);
}

// Work queued behind it ends no earlier; the program may have waited for the work before it.
void FuzzPlayer::hold_up(const FuzzOp& op) {
  constexpr Nanoseconds kLong{1'000'000'000'000};
  const std::uint32_t stream = number_of(op);
  Allocator& allocator = machine_.allocator();
  if (op.variant % 2 == 0 && !is_held_up(stream)) {
    const std::uint64_t before = allocator.streams().before_wait(device_of(stream));
    if (passed("synchronize", machine_.sim().synchronize(streams_[stream]))) {
      allocator.streams().note_waited(device_of(stream), streams_[stream], before);
    }
  }
  AnnouncedUse announced;
  allocator.unnamed_uses().begin(device_of(stream), streams_[stream], "long", announced);
  passed("launch", machine_.driver().run_kernel(streams_[stream], kLong, {}));
  allocator.uses().end(announced);
  held_until_[stream] = std::max(held_until_[stream], machine_.clock().now()) + kLong;
}

bool FuzzPlayer::use(const std::vector<FuzzBlock*>& blocks, std::size_t written, const FuzzOp& op, std::uint32_t stream,
                     bool blocking) {
  std::vector<Address> addresses;
  std::vector<AddressRange> ranges;
  std::vector<StampUse> uses;
  bool in_parts = false;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    FuzzBlock& block = *blocks[i];
    const FuzzPlace place = place_in(block, op.variant);
    in_parts = in_parts || !block.parts.empty();
    const bool writes = i + written >= blocks.size();
    if (writes) follow_all(stream, block.users);
    follow(stream, block.writer);
    addresses.push_back(place.address + place.bytes * (op.variant % 4) / 4);
    ranges.push_back({place.address, place.bytes});
    uses.push_back({place.address, place.bytes, *place.stamp, writes ? ++last_stamp_ : 0});
  }
  AnnouncedUse announced;  // half of them are launches of unknown kernels, which count as writing all blocks
  const Access access = written == 0 ? Access::kRead : Access::kWrite;
  Allocator& allocator = machine_.allocator();
  const bool has_room = has_room_for(blocks, {});
  const bool graded = !blocking && op.variant == 6;
  const bool by_range = in_parts && op.variant % 2 != 0;  // as copies do
  const std::size_t certain = addresses.size();
  if (graded) {
    const std::vector<Address> more = doubtful_words(blocks, op);
    addresses.insert(addresses.end(), more.begin(), more.end());
  }
  Status begun;
  if (graded) {
    const GradedAddresses words{addresses, certain, 0};
    begun = allocator.graded_uses().begin(words, streams_[stream], Access::kWrite, "work", announced);
  } else if (blocking) {
    const bool own =
        std::ranges::all_of(blocks, [&](const FuzzBlock* block) { return is_on(device_of(stream), *block); });
    const StreamId on = own ? streams_[stream] : kNoStream;
    begun = by_range ? allocator.uses().begin(ranges, on, access, Use::Kind::kHold, "work", announced)
                     : allocator.uses().begin(addresses, on, access, Use::Kind::kHold, "work", announced);
  } else {
    const std::size_t known = op.variant % 4 < 2 ? written : blocks.size();
    begun = by_range ? allocator.uses().begin(ranges, known, streams_[stream], "work", announced)
                     : allocator.uses().begin(addresses, known, streams_[stream], "work", announced);
  }
  expect_room("begin_use", begun, has_room);
  if (!passed("begin_use", begun)) return false;
  const bool queued = passed("launch", machine_.driver().run_kernel(streams_[stream], op.time, uses));
  if (blocking) passed("synchronize", machine_.sim().synchronize(streams_[stream]));
  allocator.uses().end(announced);
  for (std::size_t i = 0; i < blocks.size() && queued; ++i) {
    FuzzBlock& block = *blocks[i];
    if (uses[i].leaves != 0) {
      *place_in(block, op.variant).stamp = uses[i].leaves;
      block.writer = stream;
      block.users.reset();
    }
    block.users.set(stream);
  }
  return queued;
}

// Each block of one device from the first slot on, once per round: alone, and every other one together with the block
// before it. Blocks freed meanwhile are left out.
void FuzzPlayer::loop(const FuzzOp& op) {
  std::vector<FuzzBlock*> blocks;
  const std::uint32_t slots = FuzzProgram::kSlots / static_cast<std::uint32_t>(setup_.devices);
  for (std::uint32_t i = 0; i < std::min(op.around, slots); ++i) {
    FuzzBlock& block = block_behind(op, i);
    if (block) blocks.push_back(&block);
  }
  const std::uint32_t stream = number_of(op);
  for (std::uint32_t round = 0; round < op.rounds && !blocks.empty() && !failure_; ++round) {
    if (round == op.rounds / 2 && !op.policy.empty()) set_policy(op);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::size_t written = (i + op.written) % 2;
      use({blocks[i]}, written, op, stream, false);
      if (i % 2 == 1) use({blocks[i - 1], blocks[i]}, written, op, stream, false);
    }
    look();
  }
}

// Enough uses that parts of the blocks come to the device for them. The streams catch up now and then, as a program
// waits for its results.
void FuzzPlayer::dwell(const FuzzOp& op) {
  const std::vector<FuzzBlock*> blocks = operands_of(op);
  const std::uint32_t stream = number_of(op);
  const std::uint32_t part =
      op.variant % 2 == 0 ? op.variant : 3;  // often the last, which is not on the device at first
  FuzzOp each = op;
  each.time = std::min(op.time, Nanoseconds(20'000));
  for (std::uint32_t i = 0; i < FuzzProgram::kDwellUses && !blocks.empty() && !failure_; ++i) {
    each.variant = i % 16 == 15 ? i / 16 % 4 : part;
    use(blocks, std::min<std::size_t>(op.written, blocks.size()), each, stream, i % 64 == 63);
    if (i % 8 == 7) look();
  }
}

void FuzzPlayer::set_policy(const FuzzOp& op) {
  if (passed("set_policy", machine_.allocator().heaps().set_policy(op.policy))) ++policies_set_;
}

// A forward pass, in which each block is made from the one before it, and a backward pass, in which each is freed after
// another has been made from it.
void FuzzPlayer::repeat_pattern(const FuzzOp& op) {
  const auto devices = static_cast<std::uint32_t>(setup_.devices);
  const auto slot = [&](std::uint32_t n) { return FuzzProgram::kSlots + op.slots[0] % devices + n * devices; };
  constexpr std::uint32_t kLayers = FuzzProgram::kPatternBlocks - 1;
  const Bytes unit = 1152_KiB * (1 + setup_.device / 32_MiB);  // in total more than the device holds
  FuzzOp step = op;
  step.written = 1;
  for (std::uint32_t round = 0; round < op.rounds && !failure_; ++round) {
    const bool is_short = round == op.rounds / 2 && op.variant % 2 != 0;
    const std::uint32_t layers = is_short ? kLayers - 3 : kLayers;
    for (std::uint32_t n = 0; n < layers; ++n) {
      step.slots = {slot(n)};
      step.bytes = unit * (1 + n % 3);
      allocate(step);
      step.slots = {slot(n == 0 ? 0 : n - 1), slot(n)};
      step.operands = 2;
      use(step, false);
    }
    for (std::uint32_t n = layers; n-- > 0;) {
      step.slots = {slot(kLayers)};
      step.bytes = 3_MiB;
      allocate(step);
      step.slots = {slot(n), slot(kLayers)};
      use(step, false);
      step.slots = {slot(kLayers)};
      free(step);
      step.slots = {slot(n)};
      free(step);
    }
    look();
  }
}

}  // namespace tessera
