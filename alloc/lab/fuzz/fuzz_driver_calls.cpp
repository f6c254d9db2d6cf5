// Calls of a fuzz program that the driver serves itself, taking device memory that the allocator may hold: memory
// allocated from the driver, contexts, code, local memory. They are wrapped as the preload library wraps them
// (driver_room.hpp).
#include <algorithm>
#include <array>

#include "base/page_class.hpp"
#include "lab/fuzz/fuzz_player.hpp"

namespace tessera {

Status FuzzPlayer::with_driver_room(DeviceId device, std::optional<Bytes> need, const Attempt& attempt) {
  Allocator& allocator = machine_.allocator();
  bool ours = false;
  Status status = attempt(ours);
  for (const Bytes wanted : {Bytes(), need.value_or(DriverYield::kUnknown), DriverYield::kHalf}) {
    if (status.code() != Code::kOutOfMemory || ours || failure_) break;
    if (need && wanted != *need) continue;
    was_short_ = true;
    const Result<Bytes> yielded = allocator.driver_memory().begin_yield(device, wanted);
    if (!passed("begin_yield", yielded.status()) || !yielded.value()) continue;
    look();
    status = attempt(ours);
    allocator.driver_memory().end_yield(device);
  }
  return status;
}

Status FuzzPlayer::take_frame(DeviceId device, Bytes bytes) {
  const Result<FrameId> frame = machine_.sim().create_frame(device, FrameLocation::kDevice, bytes);
  if (frame.is_ok()) taken_.push_back({device, frame.value(), bytes});
  return frame.status();
}

Bytes FuzzPlayer::taken_of(DeviceId device) const {
  Bytes sum;
  for (const Taken& taken : taken_) {
    if (taken.device == device) sum += taken.bytes;
  }
  return sum;
}

// Once the driver has been short of memory, a rising budget leaves a part to it.
Bytes FuzzPlayer::device_left() const {
  Bytes most;
  for (int device = 0; device < setup_.devices; ++device) {
    most = std::max(most, taken_of(DeviceId(static_cast<std::uint64_t>(device))));
  }
  const Bytes reserve = was_short_ ? (setup_.device / 32 / kBasePage + 1) * kBasePage : Bytes();
  return setup_.device - std::min(setup_.device, most + reserve);
}

// In whole pages, at most a quarter of the device; 0 if the driver would then have more than half of it.
Bytes FuzzPlayer::driver_part(const FuzzOp& op, DeviceId device) const {
  const Bytes bytes = (std::min(op.bytes, setup_.device / 4 - Bytes(1)) / kBasePage + 1) * kBasePage;
  return taken_of(device) + bytes <= setup_.device / 2 ? bytes : Bytes();
}

void FuzzPlayer::take_for_driver(const FuzzOp& op) {
  const DeviceId device = device_of(number_of(op));
  const Bytes bytes = driver_part(op, device);
  if (!bytes) return;
  const bool says_so = op.variant % 2 == 0;
  const bool has_room = has_room_for({}, bytes);
  const Status taken = with_driver_room(device, says_so ? std::optional(bytes) : std::nullopt,
                                        [&](bool&) { return take_frame(device, bytes); });
  expect_room("the driver", taken, has_room);
  passed("take", taken);
}

void FuzzPlayer::give_to_driver(const FuzzOp& op) {
  if (taken_.empty()) return;
  const auto given = taken_.begin() + static_cast<std::ptrdiff_t>(op.slots[1] % taken_.size());
  passed("give", machine_.sim().destroy_frame(given->frame));
  taken_.erase(given);
  machine_.allocator().driver_memory().expect_more();
}

void FuzzPlayer::give_all_to_driver() {
  while (!taken_.empty()) give_to_driver(FuzzOp{});
}

// The launch's blocks have to be present at each attempt to launch.
void FuzzPlayer::use_loading(const FuzzOp& op) {
  const std::vector<FuzzBlock*> blocks = operands_of(op);
  const std::uint32_t stream = number_of(op);
  const DeviceId device = device_of(stream);
  const Bytes bytes = driver_part(op, device);
  if (blocks.empty() || !bytes) return;
  Allocator& allocator = machine_.allocator();
  std::vector<Address> addresses;
  std::vector<StampUse> uses;
  for (FuzzBlock* block : blocks) {
    follow_all(stream, block->users);
    follow(stream, block->writer);
    const FuzzPlace place = place_in(*block, op.variant);
    addresses.push_back(place.address);
    uses.push_back({place.address, place.bytes, *place.stamp, ++last_stamp_});
  }
  const Status launched = with_driver_room(device, std::nullopt, [&](bool& ours) {
    AnnouncedUse announced;
    Status status = allocator.uses().begin(addresses, addresses.size(), streams_[stream], "loading", announced);
    ours = !status.is_ok();
    if (status.is_ok()) status = take_frame(device, bytes);
    if (status.is_ok()) status = machine_.driver().run_kernel(streams_[stream], op.time, uses);
    allocator.uses().end(announced);
    return status;
  });
  if (!passed("a launch", launched)) return;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    *place_in(*blocks[i], op.variant).stamp = uses[i].leaves;
    blocks[i]->writer = stream;
    blocks[i]->users.reset();
    blocks[i]->users.set(stream);
  }
}

}  // namespace tessera
