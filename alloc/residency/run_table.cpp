// A run at another address: its frames are mapped there, and its copies in lower tiers stay as they are.
//
// A program that maps memory itself decides which address stands for which bytes, and may change that at any time. For
// the learner the run at the new address is another one.
#include <algorithm>
#include <string>
#include <vector>

#include "residency/pages/row.hpp"
#include "residency/residency.hpp"

namespace tessera {

Status Residency::rehome(Run* run, Address to, Run* range) {
  MutexLock lock(mutex_);
  const std::vector<Run*> parts = with_parts({&run, 1});
  const auto is_held = [run](const Run* part) { return part->holds.load() != 0 || run->holds.load() != 0; };
  if (std::ranges::any_of(parts, is_held)) return Status(Code::kBusy, "a call in progress uses the block");
  const Status fenced = engine_.fence_all();
  Status over;
  for (Run* const part : parts) {
    if (over.is_ok()) over = await_uses(*part, fenced);
    if (over.is_ok()) over = transfers_.await_way_out(*part);
  }
  if (over.code() == Code::kNotReady) return Status(Code::kBusy, std::string(over.message()));
  TESSERA_TRY(over);
  if (run->awaits_recompute()) return Status(Code::kBusy, "only a callback has the bytes of the block");
  for (Run* const part : parts) TESSERA_TRY(settle(*part));
  executor_.follow();  // launches so far count for the run at its old address
  TESSERA_TRY(rows_.rehome(*run, to, range));
  executor_.forget(*run);
  for (Run* const part : parts) {
    if (part != run) executor_.forget(*part);
    part->prefetch_requested = false;
  }
  if (run->pins.exchange(0) != 0) engine_.pinned_bytes -= run->shape.bytes();
  run->exposed = nullptr;
  run->keeps = 0;
  run->kept_for = nullptr;
  run->prefetch_requested = false;
  run->recompute.reset();
  run->recomputed_in.store(0);
  run->next = 0;
  return {};
}

// On return no transfer of the run is in flight. A failed read of the file is reported by the next use.
Status Residency::settle(Run& run) {
  run.quiet = run.last_work();
  std::vector<PageRef> copied;
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const PageRef page{&run, i};
    const Status settled = transfers_.settle(page);
    if (page->state == PageState::kEvicting) {
      copied.push_back(page);
    } else if (is_moving(page->state)) {
      return settled.is_ok() ? Status(Code::kBusy, "a page of the block is in transfer") : settled;
    }
  }
  return moves_.mover.vacate(copied);
}

}  // namespace tessera
