#include "residency/pages/page_copies.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "residency/pages/row.hpp"

namespace tessera {

// ---- frames ------------------------------------------------------------------------------------

Result<std::size_t> PageCopies::take(std::span<const PageRef> pages, Location to) {
  std::size_t taken = 0;
  Status status;
  // These copies are stale, or the pages would not have to be copied. Dropped also for pages that will find no frame,
  // since their epoch has been set by now.
  for (const PageRef& page : pages) {
    drop_all(page);
    page->copy.proven = false;
  }
  while (taken < pages.size() && (status = take_one(pages[taken], to)).is_ok()) {
    ++taken;
    if (pages[taken - 1]->lane() != pages[0]->lane()) {
      drop_peer(pages[--taken]);  // the next page of a stripe, which another link carries
      break;
    }
    if (!pages[taken - 1]->copy.staging) continue;
    // It is spilled to the file as soon as it is copied out, so it is copied alone.
    if (taken > 1) drop_host(pages[--taken]);
    break;
  }
  if (taken == 0) return status;
  return taken;
}

Status PageCopies::take_one(PageRef page, Location beside) {
  return beside == Location::kPeer ? take_peer(page) : take_host(page);
}

Status PageCopies::take_peer(PageRef page) {
  TESSERA_TRY_ASSIGN(page->peer, machine_.tiers.peer->take(page.page_class()));
  page->lender = static_cast<std::uint8_t>(machine_.tiers.peer->lender_of(*page->peer));
  ledger_.note_peer_frame(page);
  return {};
}

Status PageCopies::take_host(PageRef page) {
  const TierStack& tiers = machine_.tiers;
  if (tiers.backing != nullptr) {
    TESSERA_TRY_ASSIGN(page->host, tiers.backing->take(page.page_class()));
    return {};
  }
  auto frame = tiers.host.take(page.page_class());
  page->copy.staging = !frame.is_ok();
  if (page->copy.staging) {
    frame = tiers.host.take_staging(page.page_class(), machine_.device);
    if (!frame.is_ok()) {
      page->copy.staging = false;
      return Status(Code::kOutOfMemory, "no host frame is free");
    }
  }
  page->host = frame.value();
  return {};
}

bool PageCopies::adopt(PageRef page) {
  if (!page->copy.staging || !machine_.tiers.host.adopt(*page->host).is_ok()) return !page->copy.staging;
  page->copy.staging = false;
  return true;
}

void PageCopies::drop_all(PageRef page) {
  drop_peer(page);
  drop_host(page);
  drop_file(page);
}

void PageCopies::drop_peer(PageRef page) {
  if (!page->peer) return;
  ledger_.note_peer_frame_leaving(page);
  machine_.tiers.peer->give_back(*page->peer);
  page->peer.reset();
  ledger_.note_frames(page);
}

void PageCopies::drop_host(PageRef page) {
  if (!page->host) return;
  if (machine_.tiers.is_backed() || page->copy.backed) return drop_backing(page);
  if (page->copy.staging) {
    machine_.tiers.host.give_back_staging(*page->host);
  } else {
    machine_.tiers.host.give_back(*page->host);
  }
  page->host.reset();
  page->copy.staging = false;
  set_candidate(page, false);
  if (!page->file) page->fingerprint.of_copy.reset();
  ledger_.note_frames(page);
}

// A frame that cannot be unmapped from the page's address is leaked, which is logged.
void PageCopies::drop_backing(PageRef page) {
  Status status;
  if (page->copy.backed) status = mappings_.unmap_twice(page.address(), page.bytes());
  if (status.is_ok()) {
    machine_.tiers.mapped_host().give_back(*page->host);
  } else {
    log_line(LogLevel::kError, "a host frame could not be unmapped: {}", status.to_string());
    machine_.tiers.mapped_host().write_off(*page->host);
    ++stuck_;
  }
  page->copy.backed = false;
  page->host.reset();
  ledger_.note_frames(page);
}

void PageCopies::drop_file(PageRef page) {
  if (!page->file) return;
  machine_.tiers.file.give_back(*page->file);
  page->file.reset();
  if (!page->host) page->fingerprint.of_copy.reset();
  ledger_.note_frames(page);
}

// ---- candidates --------------------------------------------------------------------------------

void PageCopies::set_candidate(PageRef page, bool candidate) {
  if (page->copy.candidate == candidate) return;
  page->copy.candidate = candidate;
  if (candidate) {
    candidate_bytes_ += page.bytes();
  } else {
    candidate_bytes_ -= page.bytes();
  }
  if (!candidate || page->copy.listed) return;
  page->copy.listed = true;
  candidates_.push_back(page);
}

void PageCopies::drop_candidates(Bytes bytes) {
  std::vector<PageRef> asked;
  for (Bytes dropped; dropped < bytes && !candidates_.empty();) {
    const PageRef page = candidates_.back();
    candidates_.pop_back();
    const bool is_asked = is_evicting(page->state) && page->copy.candidate;
    if (is_asked) {
      asked.push_back(page);
      continue;
    }
    page->copy.listed = false;
    if (!page->copy.candidate) continue;
    drop_host(page);
    dropped += page.bytes();
  }
  candidates_.insert(candidates_.end(), asked.rbegin(), asked.rend());
}

void PageCopies::forget(const Run& run) {
  if (std::ranges::none_of(run.pages, [](const Page& page) { return page.copy.listed; })) return;
  std::erase_if(candidates_, [&](const PageRef& page) { return page.run == &run; });
}

void PageCopies::follow_row(const Run& row) { move_to_row(row, candidates_); }

}  // namespace tessera
