#include "block/slab.hpp"

#include <algorithm>
#include <bit>

#include <fmt/core.h>

namespace tessera {

std::uint32_t Slab::line_slots(Bytes slot_bytes) {
  const std::uint64_t fit = kLineBytes / slot_bytes;
  return static_cast<std::uint32_t>(std::bit_floor(std::clamp<std::uint64_t>(fit, 1, kLineSlots)));
}

std::uint32_t Slab::lines_for(std::uint32_t slots, Bytes slot_bytes) {
  const std::uint32_t in_line = line_slots(slot_bytes);
  return (slots + in_line - 1) / in_line;
}

Slab::Slab(SizeClass slab_class, StreamId slab_stream, TagId slab_tag)
    : Slab(slab_class, slab_stream, slab_tag, {.page = nullptr, .start = {}, .bytes = kBasePage, .lines = {}}) {
  own_lines_ = std::vector<Line>(lines_for(slots_, slab_class.bytes()));
  lines_ = own_lines_;
}

Slab::Slab(SizeClass slab_class, StreamId slab_stream, TagId slab_tag, const Part& part)
    : BlockOwner(OwnerKind::kSlab, slab_class, slab_tag),
      stream(slab_stream),
      start(part.start),
      slots_(static_cast<std::uint32_t>(part.bytes / slab_class.bytes())),
      line_shift_(static_cast<std::uint32_t>(std::countr_zero(line_slots(slab_class.bytes())))),
      reciprocal_((std::uint64_t{1} << kReciprocalShift) / (slab_class.bytes() / kBlockAlignment) + 1),
      lines_(part.lines),
      bytes_(part.bytes),
      page_(part.page),
      free_((slots_ + 63) / 64, ~std::uint64_t{0}),
      free_slots_(slots_) {
  if (slots_ % 64 != 0) free_.back() = (std::uint64_t{1} << slots_ % 64) - 1;
}

// A line does not cross into the next word of the bitmap.
std::size_t Slab::take_line(std::span<std::uint32_t> out) {
  DCHECK_GT(free_slots_, 0u);
  while (free_[first_word_] == 0) ++first_word_;
  std::uint64_t& word = free_[first_word_];
  const auto lowest = [&] { return first_word_ * 64 + static_cast<std::uint32_t>(std::countr_zero(word)); };
  const std::uint32_t last = lowest() | line_mask();
  std::size_t taken = 0;
  while (taken < out.size() && word != 0 && lowest() <= last) {
    out[taken++] = lowest();
    word &= word - 1;
  }
  free_slots_ -= static_cast<std::uint32_t>(taken);
  return taken;
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
      return Status(Code::kInternal, fmt::format("slot {} is both free and live", slot));
    }
  }
  if (count != free_slots_) {
    return Status(Code::kInternal, fmt::format("{} slots are free, {} counted", count, free_slots_));
  }
  return Status::ok();
}

}  // namespace tessera
