#include "lab/replay/host_waits.hpp"

#include <string_view>
#include <utility>

namespace tessera {
namespace {

std::optional<StallCause> cause_named(std::string_view name) {
  for (std::size_t i = 0; i < kStallCauses; ++i) {
    const auto cause = static_cast<StallCause>(i);
    if (name == name_of(cause)) return cause;
  }
  return std::nullopt;
}

}  // namespace

void HostWaits::keep() {
  kept_.clear();
  since_ = clock_.now();
  keeps_ = true;
}

void HostWaits::note() {
  const Nanoseconds now = clock_.now(), begin = std::exchange(since_, now);
  if (!keeps_ || begin == now || open_.empty() || !open_.back()) return;
  kept_.push_back({*open_.back(), begin, now});
}

void HostWaits::push(const char* name, std::uint64_t) {
  note();
  open_.push_back(cause_named(name));
}

void HostWaits::pop() {
  note();
  open_.pop_back();
}

}  // namespace tessera
