#include "block/slab.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace tessera {

Slab::Slab(SizeClass slab_class, StreamId slab_stream, TagId slab_tag)
    : BlockOwner(OwnerKind::kSlab, slab_class, slab_tag),
      stream(slab_stream),
      slots_(static_cast<std::uint32_t>(kBasePage / slab_class.bytes())),
      reciprocal_((std::uint64_t{1} << kReciprocalShift) / (slab_class.bytes() / kBlockAlignment) +
                  1),
      words_(slots_),
      free_((slots_ + 63) / 64, ~std::uint64_t{0}),
      free_slots_(slots_) {
  if (slots_ % 64 != 0) free_.back() = (std::uint64_t{1} << slots_ % 64) - 1;
}

std::uint32_t Slab::take() {
  DCHECK_GT(free_slots_, 0u);
  while (free_[first_word_] == 0) ++first_word_;
  std::uint64_t& word = free_[first_word_];
  const auto bit = static_cast<std::uint32_t>(std::countr_zero(word));
  word &= word - 1;
  --free_slots_;
  return first_word_ * 64 + bit;
}

void Slab::give(std::uint32_t slot) {
  DCHECK(!is_free(slot));
  free_[slot / 64] |= std::uint64_t{1} << slot % 64;
  first_word_ = std::min(first_word_, slot / 64);
  ++free_slots_;
}

Status Slab::validate() const {
  std::uint32_t count = 0;
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    if (!is_free(slot)) continue;
    ++count;
    if (word(slot).read().live) {
      return Status(Code::kInternal, fmt::format("slot {} is free and live", slot));
    }
  }
  if (count != free_slots_) {
    return Status(Code::kInternal,
                  fmt::format("{} slots are free, {} are counted", count, free_slots_));
  }
  return Status::ok();
}

}  // namespace tessera
