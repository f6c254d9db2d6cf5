#include "planning/period_place.hpp"

#include <utility>

namespace tessera {

PeriodPlace::PeriodPlace(std::vector<std::uint64_t> signatures, std::size_t last)
    : signatures_(std::move(signatures)), position_(last) {
  const std::size_t size = signatures_.size();
  std::vector<std::uint64_t> contexts;
  for (std::size_t end = 0; end < size; ++end) {
    std::uint64_t context = 0;
    for (std::size_t back = kContext; back-- > 0;) {
      context = mix_into_context(context, signatures_[(end + size * kContext - back) % size]);
    }
    const auto [known, is_new] = places_.try_emplace(context, end);
    alike_.push_back(is_new ? kNone : std::exchange(known->second, end));
    contexts.push_back(context);
  }
  for (const std::uint64_t context : contexts) latest_.push_back(places_.at(context));
}

void PeriodPlace::note(std::uint64_t signature, std::optional<std::uint64_t> context) {
  if (position_) position_ = (*position_ + 1) % signatures_.size();
  if (position_ && signatures_[*position_] == signature) return;
  position_.reset();
  if (!context) return;
  if (const auto place = places_.find(*context); place != places_.end()) position_ = place->second;
}

}  // namespace tessera
