#include "planning/scaled_passes.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/page_class.hpp"

namespace tessera {
namespace {

// The line through a and b at `share` of the way from a to b; at least an eighth of the smaller one, because a line
// that goes on may fall below zero.
double on_line(std::uint64_t a, std::uint64_t b, double share) {
  const double value = static_cast<double>(a) + (static_cast<double>(b) - static_cast<double>(a)) * share;
  return std::max(value, static_cast<double>(std::min(a, b)) / 8);
}

std::vector<Nanoseconds> on_line(const std::vector<Nanoseconds>& a, const std::vector<Nanoseconds>& b, double share) {
  std::vector<Nanoseconds> times(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    times[i] = Nanoseconds(static_cast<std::uint64_t>(on_line(a[i].value(), b[i].value(), share)));
  }
  return times;
}

}  // namespace

ScaledPasses::ScaledPasses(const Iteration& iteration) {
  std::vector<bool> seen(iteration.runs.size());
  const std::size_t early = std::max(iteration.steps.size() / kEarly, kLeastEarly);
  for (std::uint32_t step = 0; step < iteration.steps.size(); ++step) {
    for (const RunUse& use : iteration.uses_of(step)) {
      if (!seen[use.run]) order_.push_back(use.run);
      seen[use.run] = true;
    }
    if (step < early) early_ = order_.size();
  }
}

void ScaledPasses::add(ScaledPass pass) {
  std::erase_if(passes_, [&](const ScaledPass& known) {
    return teller_ ? known.bytes[*teller_] == pass.bytes[*teller_] : known.bytes == pass.bytes;
  });
  if (passes_.size() >= kMost) passes_.erase(passes_.begin());
  passes_.push_back(std::move(pass));
  choose_teller();
}

bool ScaledPasses::varies(std::uint32_t run) const {
  return std::ranges::any_of(passes_,
                             [&](const ScaledPass& each) { return each.bytes[run] != passes_.front().bytes[run]; });
}

// By the largest sizes, so that it stays the same one where passes differ in which of their runs is the largest: the
// scores of attention are larger than all else in long sentences only.
void ScaledPasses::choose_teller() {
  const auto size_of = [this](std::uint32_t run) {
    Bytes largest;
    for (const ScaledPass& pass : passes_) largest = std::max(largest, pass.bytes[run]);
    return largest;
  };
  std::optional<std::uint32_t> best;
  for (std::size_t i = 0; i < order_.size() && (i < early_ || !best); ++i) {
    if (varies(order_[i]) && (!best || size_of(order_[i]) > size_of(*best))) best = order_[i];
  }
  if (best) teller_ = best;
}

// A teller that is another one now may have the same size in two passes; the newer one counts.
ScaledPass ScaledPasses::at(Bytes scale) const {
  std::map<Bytes, const ScaledPass*> by_scale;
  for (const ScaledPass& pass : passes_) by_scale[pass.bytes[*teller_]] = &pass;
  auto greater = by_scale.lower_bound(scale);
  if (greater != by_scale.end() && greater->first == scale) return *greater->second;
  if (greater == by_scale.begin()) ++greater;
  if (greater == by_scale.end()) --greater;
  const auto smaller = std::prev(greater);
  const ScaledPass &a = *smaller->second, &b = *greater->second;
  const auto distance = [&](Bytes to) {
    return static_cast<double>(to.value()) - static_cast<double>(smaller->first.value());
  };
  const double share = distance(scale) / distance(greater->first);
  ScaledPass pass{{}, on_line(a.durations, b.durations, share), on_line(a.before, b.before, share)};
  for (std::size_t run = 0; run < a.bytes.size(); ++run) {
    const double bytes = on_line(a.bytes[run].value(), b.bytes[run].value(), share);
    const bool is_fixed = a.bytes[run] == b.bytes[run];
    pass.bytes.push_back(is_fixed ? a.bytes[run] : round_up(Bytes(static_cast<std::uint64_t>(bytes)), kBasePage));
  }
  return pass;
}

}  // namespace tessera
