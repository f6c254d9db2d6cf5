#include "residency/iteration/rule_choice.hpp"

#include <algorithm>
#include <utility>

#include "base/decayed_count.hpp"
#include "residency/pages/run.hpp"

namespace tessera {
namespace {

// Assumed for a link that has carried nothing yet: PCIe 4.
constexpr double kCommonRate = 25e9;

double rate_or_common(double rate) { return rate > 0 ? rate : kCommonRate; }

}  // namespace

void RuleChoice::set_rules(std::vector<const Policy*> rules) {
  clear();
  shadows_.clear();
  best_ = 0;
  for (const Policy* const rule : rules) shadows_.push_back({.rule = rule});
}

void RuleChoice::set_machine(const Machine& machine) {
  machine_ = machine;
  machine_.in_rate = rate_or_common(machine.in_rate);
  machine_.out_rate = rate_or_common(machine.out_rate);
}

RuleChoice::Time RuleChoice::copy_time(Bytes bytes, double rate) const {
  return static_cast<Time>(bytes.value()) * 1e9 / (rate * share());
}

// By a hash of its name: the sample is the same for all rules, and each halving keeps half of it.
bool RuleChoice::is_sampled(const Run& run) const {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  return sampled_ == 0 || run.name * kOdd >> (64 - sampled_) == 0;
}

std::size_t RuleChoice::add(const Run& run) {
  runs_.push_back({.run = &run, .bytes = run.shape.bytes()});
  for (Shadow& shadow : shadows_) shadow.places.emplace_back();
  return runs_.size() - 1;
}

void RuleChoice::remove(std::size_t index) {
  index_of_.erase(runs_[index].run);
  const std::size_t last = runs_.size() - 1;
  for (Shadow& shadow : shadows_) {
    shadow.used -= shadow.places[index].there;
    shadow.places[index] = shadow.places[last];
    shadow.places.pop_back();
  }
  if (index != last) {
    runs_[index] = runs_[last];
    index_of_[runs_[index].run] = index;
  }
  runs_.pop_back();
}

void RuleChoice::sample_fewer() {
  ++sampled_;
  for (std::size_t i = runs_.size(); i-- > 0;) {
    if (!is_sampled(*runs_[i].run)) remove(i);
  }
}

void RuleChoice::forget(const Run& run) {
  const auto known = index_of_.find(&run);
  if (known != index_of_.end()) remove(known->second);
}

void RuleChoice::clear() {
  if (runs_.empty()) return;
  runs_.clear();
  index_of_.clear();
  sampled_ = 0;
  for (Shadow& shadow : shadows_) shadow = {.rule = shadow.rule, .waited = shadow.waited};
}

void RuleChoice::expect(std::span<const LaunchLog::Use> uses) {
  if (is_idle() || runs_.empty()) return;
  for (const LaunchLog::Use& use : uses) {
    if (!use.fresh || use.freed.is_never()) continue;
    const auto known = index_of_.find(use.run);
    if (known != index_of_.end()) runs_[known->second].frees.push_back(use.freed);
  }
}

// Launches are noted later than they are made: by then the block may have been freed, and the next one allocated.
bool RuleChoice::is_dead(const ShadowRun& run, Epoch epoch) const {
  if (!run.frees.empty()) return run.frees.front() <= epoch;
  return run.run->freed.load(std::memory_order_relaxed) <= epoch && run.run->is_dead();
}

void RuleChoice::note(const Launch& launch, std::span<const LaunchLog::Use> uses) {
  if (is_idle() || !knows_machine()) return;
  named_.clear();
  for (const LaunchLog::Use& use : uses) {
    if (!is_sampled(*use.run)) continue;
    const auto [known, is_new] = index_of_.try_emplace(use.run);
    if (is_new) known->second = add(*use.run);
  }
  while (runs_.size() > kMostRuns) sample_fewer();
  for (const LaunchLog::Use& use : uses) {
    const auto known = index_of_.find(use.run);
    if (known == index_of_.end()) continue;
    named_.push_back(known->second);
    runs_[known->second].named = launch.number;
  }
  for (Shadow& shadow : shadows_) play(shadow, launch, uses);
  auto fresh = named_.begin();
  for (const LaunchLog::Use& use : uses) {
    if (fresh == named_.end() || runs_[*fresh].run != use.run) continue;
    std::vector<Epoch>& frees = runs_[*fresh++].frees;
    if (use.fresh && !use.freed.is_never() && !frees.empty()) frees.erase(frees.begin());
  }
  for (const std::size_t index : named_) {
    ShadowRun& run = runs_[index];
    if (!run.used.is_never() && run.used < launch.epoch) run.gap = launch.epoch - run.used;
    run.used = launch.epoch;
  }
  ++launches_;
  choose();
}

void RuleChoice::play(Shadow& shadow, const Launch& launch, std::span<const LaunchLog::Use> uses) {
  Time& oldest = shadow.ends[launches_ % kAhead];
  shadow.host = std::max(shadow.host, oldest);
  Bytes missing;
  for (const std::size_t index : named_) missing += runs_[index].bytes - shadow.places[index].there;
  Time ready = 0;
  if (missing) {
    if (shadow.used + missing > capacity()) make_room(shadow, shadow.used + missing - capacity(), launch);
    shadow.used += missing;
    auto index = named_.begin();
    for (const LaunchLog::Use& use : uses) {
      if (index == named_.end() || runs_[*index].run != use.run) continue;  // not in the sample
      Place& place = shadow.places[*index];
      const Bytes comes = runs_[*index].bytes - std::exchange(place.there, runs_[*index].bytes);
      const bool is_first = runs_[*index].used.is_never();  // it was somewhere before, the same for all rules
      if (comes && !use.fresh && !is_first) {
        ready = shadow.in = std::max(shadow.in, shadow.host) + copy_time(comes, machine_.in_rate);
      }
      ++index;
    }
  }
  const Time start = std::max({shadow.device, shadow.host, ready});
  if (launches_ != 0) shadow.waited += start - shadow.device;
  shadow.device = start + static_cast<Time>(launch.duration.value());
  oldest = shadow.device;
  auto index = named_.begin();
  for (const LaunchLog::Use& use : uses) {
    if (index == named_.end() || runs_[*index].run != use.run) continue;
    Place& place = shadow.places[*index++];
    place.busy = shadow.device;
    if (use.writes || use.fresh) place.copied = {};
  }
}

// As the engine does: the victims in the rule's order, the last of them only as far as needed. The program waits until
// they have left.
void RuleChoice::make_room(Shadow& shadow, Bytes need, const Launch& launch) {
  Snapshot snapshot{.need = need, .epoch = launch.epoch, .runs = std::move(pictures_)};
  snapshot.runs.clear();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const ShadowRun& run = runs_[i];
    const Place& place = shadow.places[i];
    if (!place.there || run.named == launch.number || run.run->is_pinned()) continue;
    const Bytes away = run.bytes - place.there;
    snapshot.runs.push_back(
        {.run = i,
         .bytes = place.there,
         .clean = place.copied > away ? place.copied - away : Bytes(),
         .used = run.used,
         .gap = run.gap,
         .often = decayed(run.run->uses.often, run.run->uses.counted.value(), launch.epoch.value()),
         .next = run.run->uses.next > launch.number ? launch.epoch + (run.run->uses.next - launch.number) : Epoch(),
         .idle = place.busy <= shadow.host,
         .dead = is_dead(run, launch.epoch),
         .tag = run.run->tag});
  }
  const Decision decision = shadow.rule->decide(snapshot);
  std::vector<RunPicture>& pictures = pictures_ = std::move(snapshot.runs);
  Bytes left;
  for (const std::size_t victim : decision.victims) {
    if (left >= need) break;
    const auto picture = std::ranges::lower_bound(pictures, victim, {}, &RunPicture::run);
    const Bytes goes = std::min(picture->bytes, need - left);
    evict(shadow, victim, goes, picture->dead);
    left += goes;
  }
}

void RuleChoice::evict(Shadow& shadow, std::size_t index, Bytes bytes, bool dead) {
  Place& place = shadow.places[index];
  const Bytes away = runs_[index].bytes - place.there, clean = place.copied > away ? place.copied - away : Bytes();
  place.there -= bytes;
  shadow.used -= bytes;
  Time gone = std::max(shadow.host, place.busy);
  if (dead) {
    place.copied = {};
  } else if (bytes > clean) {
    gone = shadow.out = std::max(shadow.out, gone) + copy_time(bytes - clean, machine_.out_rate);
    place.copied = away + bytes;
  }
  shadow.host = std::max(shadow.host, gone);
}

// The first of equal rules is preferred.
void RuleChoice::choose() {
  const Time whole = copy_time(capacity(), machine_.in_rate);
  const auto least = std::ranges::min_element(shadows_, {}, &Shadow::waited);
  const Time waited = shadows_[best_].waited;
  if (waited >= whole / kEnough && least->waited < waited - waited / kMargin) {
    best_ = static_cast<std::size_t>(least - shadows_.begin());
  }
  if (shadows_[best_].waited < whole * kHalfLife) return;
  for (Shadow& shadow : shadows_) shadow.waited /= 2;
}

}  // namespace tessera
