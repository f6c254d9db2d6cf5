#include "residency/eviction/victim_choice.hpp"

#include <utility>

namespace tessera {

Decision VictimChoice::decide(Snapshot snapshot) {
  Decision decision = engine_.tracker.device_decider().decide(snapshot);
  pictures_ = std::move(snapshot.runs);
  return decision;
}

VictimChoice::Choice VictimChoice::choose_many(Bytes need, Recency recency) {
  Snapshot snapshot = picture(need, Which::kAll, recency, PageClass::kLarge);
  Bytes ahead;
  if (snapshot.runs.size() >= kMany && !engine_.tracker.has_active_plan()) {
    for (const RunPicture& run : snapshot.runs) ahead += run.bytes;
    ahead = ahead / kShare;
  }
  snapshot.need += ahead;
  return {decide(std::move(snapshot)), ahead};
}

Snapshot VictimChoice::picture(Bytes need, Which which, Recency recency, PageClass most) {
  const auto worth = which == Which::kWithoutCopy ? RunEviction::Worth::kAnyhow : RunEviction::Worth::kIfItPays;
  Snapshot snapshot{
      .shortage = Location::kDevice, .need = need, .epoch = engine_.streams.epoch(), .runs = std::move(pictures_)};
  snapshot.runs.clear();
  stuck_ = engine_.waits.stuck();
  for (const Run& run : engine_.with(PageTrait::kResident)) {
    if (!run.is_evictable()) continue;
    if (which == Which::kDead && !run.is_dead()) continue;
    RunPicture picture = engine_.picture_of(run, snapshot.epoch);
    if (!picture.dead && !engine_.automatic.load()) continue;
    if (which == Which::kIdle && (!picture.idle || run.is_expected())) continue;
    if (which == Which::kDead && !picture.idle) continue;
    if (recency == Recency::kSettled && !engine_.is_settled(run)) continue;
    if (stuck_ != 0 && is_held_up(run, stuck_)) continue;
    measure(run, which, most, eviction_.may_drop(run, worth), picture);
    if (picture.bytes) snapshot.runs.push_back(picture);
  }
  return snapshot;
}

// Of thousands of runs most have no copies, and then all their pages are alike.
void VictimChoice::measure(const Run& run, Which which, PageClass most, bool drops, RunPicture& picture) const {
  const auto can_go = [&](bool clean) { return which != Which::kWithoutCopy || clean || picture.dead; };
  if (most == PageClass::kLarge && !run.has_copies_beside()) {
    if (can_go(drops)) picture.bytes = run.bytes_in(PageState::kResident);
    if (drops) picture.clean = picture.bytes;
    return;
  }
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const Page& page = run.pages[i];
    if (page.state != PageState::kResident) continue;
    if (run.shape.page_class(i) > most) continue;
    const bool clean = drops || (is_clean(run, page) && !engine_.unseen.load());
    if (!can_go(clean)) continue;
    const Bytes bytes = page_bytes(run.shape.page_class(i));
    picture.bytes += bytes;
    if (clean) picture.clean += bytes;
  }
}

// By stuck work that is known to use the run.
bool VictimChoice::is_held_up(const Run& run, std::uint64_t stuck) const {
  return !engine_.streams.passed(run.users() & stuck, run.last_work());
}

}  // namespace tessera
