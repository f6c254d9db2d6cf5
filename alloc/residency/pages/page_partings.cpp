// Evictions where work may use pages without announcing it: unmap, copy, mark.
//
// A page is unmapped after the work queued at the time of the decision, and its bytes are read through another address
// of its frame. Writes of such work are part of the copy, or the page is gone before them: then the kernel faults, and
// the program gets an error. No byte is lost silently. An announced use maps the page again, at the same frame
// (docs/decisions/0027-unannounced-work.md).
#include <algorithm>

#include "base/log.hpp"
#include "residency/pages/page_mover.hpp"

namespace tessera {
namespace {

// A driver that refuses this many times in a row is not tried again.
constexpr int kMostAliasRefusals = 8;
constexpr int kUndoTries = 2;

}  // namespace

bool PageMover::open_aliases(std::span<const PageRef> pages) {
  if (alias_refusals_ >= kMostAliasRefusals) return false;
  for (const PageRef& page : pages) {
    const Status opened = tiers_.device.open_alias(*page->device);
    if (opened.is_ok()) continue;
    if (alias_refusals_++ == 0) {
      log_line(LogLevel::kWarning,
               "device memory cannot be mapped twice, so writes to a block by a kernel whose launch does "
               "not show that block may be lost during its eviction: {}",
               opened.to_string());
    }
    return false;
  }
  alias_refusals_ = 0;
  return true;
}

// ---- until it is unmapped -----------------------------------------------------------------------

Result<std::size_t> PageMover::part(std::span<const PageRef> pages, CopyLocation to) {
  std::size_t taken = 0;
  TESSERA_TRY_ASSIGN(taken, take_frames_beside(pages, to));
  for (const PageRef& page : pages.first(taken)) {
    page->asks = false;
    page->started = log_.now();
    TESSERA_TRY(step(page, PageEvent::kPart));
  }
  return taken;
}

Status PageMover::part_to_ask(PageRef page) {
  page->asks = true;
  page->started = log_.now();
  return step(page, PageEvent::kPart);
}

Status PageMover::stay(PageRef page) {
  if (!page->asks) return_near_frame(page);  // it has no bytes yet
  return step(page, PageEvent::kForward);
}

// As in vacate(), a page counts as missing before its run is tested for being dead.
Status PageMover::take_apart(std::span<const PageRef> pages) {
  if (pages.empty()) return {};
  std::vector<PageRef> dead, leaving;
  Status result;
  const Gate::Closed closed(gate_);
  TESSERA_TRY(closed.status());
  for (const PageRef& page : pages) {
    const Run& run = *page.run;
    page.run->add_missing();
    const bool quiet = run.last_work() <= page->as_of() && run.is_evictable();
    if (quiet) {
      (run.is_dead() ? dead : leaving).push_back(page);
    } else {
      page.run->drop_missing();
      note_error(result, stay(page));
    }
  }
  for (auto* pages_out : {&dead, &leaving}) std::ranges::sort(*pages_out, {}, &PageRef::address);
  note_error(result, take_frames(dead, After::kEmpty));
  const auto unmap = [&](Address address, Bytes bytes, std::span<const PageRef> part) {
    Status unmapped = driver_.unmap(address, bytes);
    for (const PageRef& page : part) {
      if (unmapped.is_ok()) page.run->streams.store(0);  // the gate is closed, and all uses are over
      note_error(result, unmapped.is_ok() ? step(page, PageEvent::kTakeApart) : stay(page));
      page.run->drop_missing();
    }
    return unmapped;
  };
  note_error(result, for_each_stretch(leaving, unmap));
  return result;
}

// ---- while it is unmapped -----------------------------------------------------------------------

Status PageMover::copy_apart(std::span<const PageRef> pages) {
  if (Status queued = queue_copies(CopyWay::kOut, pages); !queued.is_ok()) {
    for (const PageRef& page : pages) return_near_frame(page);
    note_error(queued, bring_back(pages));
    return queued;
  }
  for (const PageRef& page : pages) TESSERA_TRY(step(page, PageEvent::kCopyOut));
  return {};
}

Status PageMover::evict_apart(PageRef page) {
  return release_frame(page, page.run->is_dead() ? After::kEmpty : After::kCold);
}

Status PageMover::give_up_apart(PageRef page) { return release_frame(page, After::kEmpty); }

Status PageMover::bring_back(std::span<const PageRef> pages) {
  std::vector<PageRef> mapped;
  Status status;
  for (const PageRef& page : pages) {
    status = map_again(page);
    if (!status.is_ok()) break;
    mapped.push_back(page);
  }
  std::ranges::sort(mapped, {}, &PageRef::address);
  if (status.is_ok()) status = grant_access(mapped);
  if (!status.is_ok()) {
    unmap_again(mapped);
    return status;
  }
  for (const PageRef& page : mapped) {
    page->recalled = page->state != PageState::kApart;
    TESSERA_TRY(step(page, PageEvent::kBack));
  }
  return {};
}

// Maps all of the page's frame at its address, or nothing.
Status PageMover::map_again(PageRef page) {
  const auto handles = HandleTier::handles_of(*page->device);
  const Bytes each = page.bytes() / handles.size();
  Bytes mapped;
  for (const std::uint64_t handle : handles) {
    Status status = driver_.map(page.address() + mapped, each, FrameId(handle));
    if (!status.is_ok()) {
      Status undone = mapped ? driver_.unmap(page.address(), mapped) : Status();
      for (int i = 1; i < kUndoTries && !undone.is_ok(); ++i) undone = driver_.unmap(page.address(), mapped);
      if (!undone.is_ok()) log_line(LogLevel::kError, "a page is partially mapped: {}", undone.to_string());
      return status;
    }
    mapped += each;
  }
  return {};
}

// A page that stays mapped makes the next attempt fail, and with it each use of the run.
void PageMover::unmap_again(std::span<const PageRef> pages) {
  for (const PageRef& page : pages) {
    Status undone = driver_.unmap(page.address(), page.bytes());
    for (int i = 1; i < kUndoTries && !undone.is_ok(); ++i) undone = driver_.unmap(page.address(), page.bytes());
    if (!undone.is_ok()) log_line(LogLevel::kError, "a page could not be unmapped: {}", undone.to_string());
  }
}

// ---- to another address -------------------------------------------------------------------------

// Stops at the first error; `unmapped` are the pages before it.
Status PageMover::unmap_all(std::span<const PageRef> pages, std::vector<PageRef>& unmapped) {
  Status status;
  const auto unmap = [&](Address address, Bytes bytes, std::span<const PageRef> part) {
    if (status.is_ok()) status = driver_.unmap(address, bytes);
    if (status.is_ok()) unmapped.insert(unmapped.end(), part.begin(), part.end());
    return status;
  };
  return for_each_stretch(pages, unmap);
}

Status PageMover::rehome(Run& run, Address to) {
  std::vector<PageRef> resident, backed, apart, bare;
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const PageRef page{&run, i};
    if (is_moving(page->state)) return Status(Code::kBusy, "a page of the block is in transfer");
    if (page->state == PageState::kResident) resident.push_back(page);
    if (page->state == PageState::kApart) apart.push_back(page);
    if (page->backed) backed.push_back(page);
  }
  std::vector<PageRef> unmapped;
  Status status = unmap_all(resident, unmapped);
  for (const PageRef& page : unmapped) TESSERA_TRY(step(page, PageEvent::kTakeApart));
  if (status.is_ok()) status = unmap_all(backed, bare);
  for (const PageRef& page : bare) page->backed = false;
  if (status.is_ok()) {
    run.address = to;
    run.name = to.value();
    unmapped.insert(unmapped.end(), apart.begin(), apart.end());
  }
  back(bare);
  std::ranges::sort(unmapped, {}, &PageRef::address);
  if (const Status mapped = bring_back(unmapped); !mapped.is_ok()) {
    log_line(LogLevel::kDebug, "a moved block is not mapped until its next use: {}", mapped.to_string());
  }
  return status;
}

}  // namespace tessera
