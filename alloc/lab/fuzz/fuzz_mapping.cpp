// Memory that a fuzz program maps itself: blocks that are moved between reserved addresses and their own.
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
  const Result<Address> made = machine_.allocator().create_mappable(device_of(number), bytes);
  passed("pop", TagStack::pop());
  if (!passed("create_mappable", made.status())) return;
  block = {.address = made.value(), .bytes = bytes, .writer = number, .mappable = true};
  move(op, block);
}

// One move in three is to no reserved addresses, as if it were unmapped.
void FuzzPlayer::move(const FuzzOp& op, FuzzBlock& block) {
  Allocator& allocator = machine_.allocator();
  await_users(block);
  std::optional<Address> to;
  if (op.variant % 3 != 0) {
    const Result<Address> range = allocator.reserve_addresses(device_of(number_of(op)), block.bytes);
    if (!passed("reserve_addresses", range.status())) return;
    to = range.value();
  }
  const Result<Address> moved = allocator.move_mappable(block.address, to);
  if (!passed("move_mappable", moved.status())) {
    if (to) passed("unreserve_addresses", allocator.unreserve_addresses(*to));
    return;
  }
  give_addresses_back(block);
  block.address = moved.value();
  block.reserved = to.value_or(Address());
  block.pins = 0;  // a pin ends with the address
  block.exposed = false;
}

void FuzzPlayer::end_mapped(FuzzBlock& block) {
  await_users(block);
  if (!passed("destroy_mappable", machine_.allocator().destroy_mappable(block.address))) return;
  give_addresses_back(block);
  block = {};
}

void FuzzPlayer::give_addresses_back(FuzzBlock& block) {
  if (!block.reserved) return;
  passed("unreserve_addresses", machine_.allocator().unreserve_addresses(block.reserved));
  block.reserved = Address();
}

void FuzzPlayer::await_users(const FuzzBlock& block) {
  for (std::uint32_t user = 0; user < streams_.size(); ++user) {
    if (block.users.test(user)) passed("synchronize", machine_.sim().synchronize(streams_[user]));
  }
}

}  // namespace tessera
