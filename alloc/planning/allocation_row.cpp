#include "planning/allocation_row.hpp"

#include <algorithm>

namespace tessera {

std::uint64_t AllocationLog::note(Bytes bytes, std::uint64_t kind) {
  const std::uint64_t signature = mix_into_context(mix_into_context(kind, bytes.value()), live_.value());
  blocks_.push_back(
      {.block = {.bytes = bytes, .kind = kind, .begin = step_++}, .signature = signature, .lived = live_});
  if (blocks_.size() > kMost) {
    blocks_.pop_front();
    ++first_;
  }
  live_ += bytes;
  const std::size_t before = finder_.distance();
  finder_.note(signature, 0);
  repeats_anew_ = finder_.distance() != before;
  return first_ + blocks_.size() - 1;
}

void AllocationLog::note_served(std::uint64_t number, Bytes bytes, const Stay& stay) {
  served_[stay.address.value()] = {number, bytes};
  if (number >= first_) blocks_[number - first_].stay = stay;
}

void AllocationLog::note_freed(Address address, bool is_alone, Epoch epoch) {
  const auto served = served_.find(address.value());
  if (served == served_.end()) return;
  const Served freed = served->second;
  served_.erase(served);
  live_ -= freed.bytes;
  if (freed.number < first_) return;
  Noted& noted = blocks_[freed.number - first_];
  noted.block.end = step_++;
  noted.block.is_alone = is_alone;
  noted.stay.freed = epoch;
}

void AllocationLog::interrupt() {
  finder_.interrupt();
  first_ += blocks_.size();
  blocks_.clear();
  served_.clear();
  live_ = {};
  repeats_anew_ = false;
}

std::size_t AllocationLog::begun_again() const {
  const std::size_t length = finder_.distance(), again = finder_.agreed();
  if (length < kFewest || again > length || length + again > blocks_.size()) return 0;
  return repeats_anew_ || again == length ? length : 0;
}

// When the row begins again, its first pass is complete, so the lifetimes in it are known.
AllocationRow AllocationLog::row() const {
  const std::size_t length = finder_.distance(), end = blocks_.size() - finder_.agreed(), begin = end - length;
  const std::uint64_t from = blocks_[begin].block.begin, until = blocks_[end].block.begin;
  AllocationRow row;
  row.last = finder_.agreed() - 1;
  row.beside = blocks_[begin].lived;
  for (std::size_t i = begin; i < end; ++i) {
    row.signatures.push_back(blocks_[i].signature);
    AllocationRow::Block block = blocks_[i].block;
    block.begin -= from;
    block.end = block.end == 0 || block.end > until ? 0 : block.end - from;
    row.blocks.push_back(block);
  }
  return row;
}

std::size_t AllocationLog::kept_to(std::span<const std::uint64_t> signatures, std::size_t last) const {
  const std::size_t length = signatures.size();
  std::size_t kept = 0;
  while (kept < blocks_.size() && before_last(kept).signature == signatures[(last + length - kept % length) % length]) {
    ++kept;
  }
  return kept;
}

}  // namespace tessera
