#include "block/bundle.hpp"

#include <bit>

#include <fmt/core.h>

namespace tessera {
namespace {

// In thousandths of the occupied pages.
std::uint64_t waste(Bytes bytes) {
  const Bytes pages = round_up(bytes, kBasePage);
  return (pages - bytes).value() * 1000 / pages.value();
}

Bytes sum_of(std::span<const Bytes> places) {
  Bytes sum;
  for (const Bytes place : places) sum += place;
  return sum;
}

}  // namespace

Bundle::Bundle(Bytes run_bytes, StreamId bundle_stream, TagId bundle_tag)
    : BlockOwner(OwnerKind::kBundle, *size_class_for(run_bytes), bundle_tag), stream(bundle_stream) {
  DCHECK_EQ(size_class.bytes(), run_bytes);
  DCHECK_LE(run_bytes, kMostBytes);
}

bool Bundle::is_for(Bytes bytes) { return bytes > kSlotLimit && bytes <= kLargestBlock && waste(bytes) > 30; }

// More blocks only if that wastes a percentage point less.
Bytes Bundle::bytes_for(Bytes block, Bytes most) {
  const Bytes place = place_bytes(block);
  Bytes best = place;
  for (Bytes sum = 2 * place; round_up(sum, kBasePage) <= most; sum += place) {
    if (waste(sum) + 10 < waste(best)) best = sum;
  }
  return round_up(best, kBasePage);
}

Bytes Bundle::run_bytes(std::span<const Bytes> places) {
  return shape_for(size_class_for(sum_of(places))->bytes()).bytes();
}

Bundle::Bundle(std::uint32_t number, std::span<const Bytes> places, StreamId bundle_stream, TagId bundle_tag)
    : BlockOwner(OwnerKind::kBundle, *size_class_for(sum_of(places)), bundle_tag),
      stream(bundle_stream),
      planned(number) {
  for (const Bytes place : places) give(append(place));
}

std::uint32_t Bundle::append(Bytes place_bytes) {
  DCHECK_LE(place_bytes, room());
  DCHECK_GT(place_bytes, kSlotLimit);
  const std::uint32_t place = places();
  ends_[place + 1] = ends_[place] + place_bytes;
  places_.store(place + 1, std::memory_order_release);
  return place;
}

void Bundle::take(std::uint32_t place) {
  DCHECK(is_free(place));
  free_ &= ~(std::uint64_t{1} << place);
}

void Bundle::give(std::uint32_t place) {
  DCHECK(!is_free(place));
  free_ |= std::uint64_t{1} << place;
}

Status Bundle::validate() const {
  if (places() > words().size() || ends_[places()] > bytes()) {
    return Status(Code::kInternal, fmt::format("{} places reach beyond {} bytes", places(), bytes().value()));
  }
  for (std::uint32_t place = 0; place < words().size(); ++place) {
    const bool live = word(place).read().live, free = is_free(place);
    const bool fine = place < places() ? capacity(place) > kSlotLimit && !(free && live) : !free && !live;
    if (!fine)
      return Status(Code::kInternal,
                    fmt::format("place {} of {} does not exist, or is free and live", place, places()));
  }
  return Status::ok();
}

}  // namespace tessera
