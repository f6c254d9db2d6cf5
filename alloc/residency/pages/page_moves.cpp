#include "residency/pages/page_moves.hpp"

#include <algorithm>
#include <vector>

#include "base/log.hpp"
#include "residency/pages/row.hpp"

namespace tessera {

Status PageMoves::rehome(Run& run, Address to) {
  std::vector<PageRef> resident, backed, apart, bare, in_host, unmapped_in_host;
  TESSERA_TRY(uncover(run));
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const PageRef page{&run, i};
    if (is_moving(page->state)) return Status(Code::kBusy, "a page of the block is in transfer");
    if (page->state == PageState::kResident) resident.push_back(page);
    if (page->state == PageState::kApart) apart.push_back(page);
    if (page->copy.backed) (is_in_host(page->state) ? in_host : backed).push_back(page);
  }
  std::vector<PageRef> unmapped;
  Status status = mappings.unmap(resident, unmapped);
  for (const PageRef& page : unmapped) TESSERA_TRY(ledger.step(page, PageEvent::kTakeApart));
  if (status.is_ok()) status = mappings.unmap(backed, bare);
  for (const PageRef& page : bare) page->copy.backed = false;
  if (status.is_ok()) status = mappings.unmap(in_host, unmapped_in_host);
  if (status.is_ok()) {
    run.address = to;
    run.name = to.value();
    unmapped.insert(unmapped.end(), apart.begin(), apart.end());
  }
  swaps.back(bare);
  zero_copy.map_again(unmapped_in_host);
  std::ranges::sort(unmapped, {}, &PageRef::address);
  if (const Status mapped = partings.bring_back(unmapped); !mapped.is_ok()) {
    log_line(LogLevel::kDebug, "a moved block is not mapped until its next use: {}", mapped.to_string());
  }
  return status;
}

Status PageMoves::uncover(Run& run) {
  Status result;
  for (const PageRef& page : pages_of(run)) note_error(result, placeholders.uncover(page));
  return result;
}

void PageMoves::forget(Run& run) {
  if (const Status uncovered = uncover(run); !uncovered.is_ok()) {
    log_line(LogLevel::kError, "an address that is given up stays mapped: {}", uncovered.to_string());
  }
  ledger.forget(run);
  copies.forget(run);
}

}  // namespace tessera
