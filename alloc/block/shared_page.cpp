#include "block/shared_page.hpp"

#include <algorithm>

namespace tessera {

SharedPage::SharedPage(StreamId page_stream, TagId page_tag)
    : BlockOwner(OwnerKind::kSharedPage, *size_class_for(kBasePage), page_tag),
      stream(page_stream),
      lines_(std::size_t{kUnits} * kUnitLines) {}

// At most an eighth is wasted behind the last slot.
Bytes SharedPage::part_bytes(SizeClass size_class, Bytes held) {
  Bytes bytes = round_up(std::max(size_class.bytes(), held), kUnit);
  while (bytes < kBasePage && bytes % size_class.bytes() > bytes / 8) bytes += kUnit;
  return std::min(bytes, kBasePage);
}

std::vector<Slab*> SharedPage::slabs() const {
  std::vector<Slab*> slabs;
  for (const auto& entry : slabs_) {
    Slab* const slab = entry.load(std::memory_order_acquire);
    if (slab && (slabs.empty() || slabs.back() != slab)) slabs.push_back(slab);
  }
  return slabs;
}

std::unique_ptr<Slab> SharedPage::cut(SizeClass size_class, Bytes bytes) {
  DCHECK_LE(bytes, room());
  const auto lines = std::span(lines_).subspan(std::size_t{cut_} * kUnitLines);
  const auto slots = static_cast<std::uint32_t>(bytes / size_class.bytes());
  auto slab = std::make_unique<Slab>(size_class, stream, tag,
                                     Slab::Part{.page = this,
                                                .start = kUnit * cut_,
                                                .bytes = bytes,
                                                .lines = lines.first(Slab::lines_for(slots, size_class.bytes()))});
  slab->run = run;
  for (Bytes end = kUnit * cut_ + bytes; kUnit * cut_ < end; ++cut_) {
    slabs_[cut_].store(slab.get(), std::memory_order_release);
  }
  return slab;
}

}  // namespace tessera
