// Memory that a fuzz program maps itself: blocks that are moved between reserved addresses and their own.
#include <algorithm>

#include "base/page_class.hpp"
#include "lab/fuzz/fuzz_player.hpp"

namespace tessera {

void FuzzPlayer::map(const FuzzOp& op) {
  FuzzBlock& block = blocks_[op.slots[0]];
  if (!block) return make_mapped(op, block);
  if (block.mappable) move(op, block);
}

void FuzzPlayer::make_mapped(const FuzzOp& op, FuzzBlock& block) {
  const std::uint32_t number = number_of(op);
  const Bytes bytes = round_up(op.bytes, kBasePage);
  passed("push", TagStack::push(tags_[op.tag]));
  const Result<Address> made = machine_.allocator().mappable().create(device_of(number), bytes);
  passed("pop", TagStack::pop());
  if (!passed("create_mappable", made.status())) return;
  block = {.address = made.value(), .bytes = bytes, .writer = number, .mappable = true};
  move(op, block);
}

// Where the block fits between the others of the device's segment, from a place on that the operation chooses.
std::optional<Address> FuzzPlayer::place_in_segment(const FuzzOp& op, const FuzzBlock& block) {
  const DeviceId device = device_of(number_of(op));
  Address& segment = segments_[device.value()];
  if (!segment) {
    const Result<Address> made = machine_.allocator().mappable().reserve(device, kSegment);
    if (!passed("reserve_addresses", made.status())) return std::nullopt;
    segment = made.value();
  }
  const std::uint64_t places = (kSegment - std::min(kSegment, block.bytes)) / kBasePage + 1;
  for (std::uint64_t i = 0; i < places; ++i) {
    const Address at = segment + kBasePage * ((i + op.nth * 7) % places);
    const auto overlaps = [&](const FuzzBlock& other) {
      return other && at < other.address + round_up(other.bytes, kBasePage) && other.address < at + block.bytes;
    };
    const bool is_free = std::ranges::none_of(blocks_, overlaps) && std::ranges::none_of(lost_, overlaps);
    if (at + block.bytes <= segment + kSegment && is_free) return at;
  }
  return std::nullopt;
}

void FuzzPlayer::end_segments() {
  for (Address& segment : segments_) {
    if (segment) passed("unreserve_addresses", machine_.allocator().mappable().unreserve(segment));
    segment = Address();
  }
}

// One move in three is to no reserved addresses, as if it were unmapped; one in three is beside others.
void FuzzPlayer::move(const FuzzOp& op, FuzzBlock& block) {
  Allocator& allocator = machine_.allocator();
  await_users(block);
  std::optional<Address> to;
  bool beside = false;
  if (op.variant % 3 == 2) {
    to = place_in_segment(op, block);
    beside = to.has_value();
  } else if (op.variant % 3 == 1) {
    const Result<Address> range = allocator.mappable().reserve(device_of(number_of(op)), block.bytes);
    if (!passed("reserve_addresses", range.status())) return;
    to = range.value();
  }
  const Result<Address> moved = allocator.mappable().move(block.address, to);
  if (!passed("move_mappable", moved.status())) {
    if (to && !beside) passed("unreserve_addresses", allocator.mappable().unreserve(*to));
    return;
  }
  give_addresses_back(block);
  block.address = moved.value();
  block.reserved = beside ? Address() : to.value_or(Address());
  block.beside = beside;
  block.pins = 0;  // a pin ends with the address
  block.exposed = false;
}

void FuzzPlayer::end_mapped(FuzzBlock& block) {
  await_users(block);
  const Status destroyed = machine_.allocator().mappable().destroy(block.address);
  // After any other error it is gone, and something may still be mapped where it was.
  if (!passed("destroy_mappable", destroyed)) {
    if (destroyed.code() == Code::kBusy) return;
    if (block.beside) lost_.push_back(block);
  }
  give_addresses_back(block);
  block = {};
}

void FuzzPlayer::give_addresses_back(FuzzBlock& block) {
  if (!block.reserved) return;
  passed("unreserve_addresses", machine_.allocator().mappable().unreserve(block.reserved));
  block.reserved = Address();
}

void FuzzPlayer::await_users(const FuzzBlock& block) {
  for (std::uint32_t user = 0; user < streams_.size(); ++user) {
    if (block.users.test(user)) passed("synchronize", machine_.sim().synchronize(streams_[user]));
  }
}

}  // namespace tessera
