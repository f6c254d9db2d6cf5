// The copies of a page outside the device: its peer, host and file frames, and moves between host and file.
#include "residency/pages/page_mover.hpp"

namespace tessera {

Status PageMover::take_frame(PageRef page, CopyLocation beside) {
  return beside == CopyLocation::kPeer ? take_peer_frame(page) : take_host_frame(page);
}

// Idle bytes are counted here and in step(): a kResident page gets the frame, or a page with the frame becomes
// kResident.
Status PageMover::take_peer_frame(PageRef page) {
  TESSERA_TRY_ASSIGN(page->peer, tiers_.peer->take(page.page_class()));
  if (page->state == PageState::kResident) idle_peer_bytes_ += page.bytes();
  return {};
}

void PageMover::return_peer_frame(PageRef page) {
  if (!page->peer) return;
  if (page->state == PageState::kResident) idle_peer_bytes_ -= page.bytes();
  tiers_.peer->give_back(*page->peer);
  page->peer.reset();
  note_page(page);
}

Status PageMover::take_host_frame(PageRef page) {
  if (tiers_.backing != nullptr) {
    TESSERA_TRY_ASSIGN(page->host, tiers_.backing->take(page.page_class()));
    return {};
  }
  auto frame = tiers_.host.take(page.page_class());
  page->staging = !frame.is_ok();
  if (page->staging) {
    frame = tiers_.host.take_staging(page.page_class(), device_);
    if (!frame.is_ok()) {
      page->staging = false;
      return Status(Code::kOutOfMemory, "no host frame is free");
    }
  }
  page->host = frame.value();
  return {};
}

void PageMover::return_host_frame(PageRef page) {
  if (!page->host) return;
  if (tiers_.backing != nullptr) return return_backing_frame(page);
  if (page->staging) {
    tiers_.host.give_back_staging(*page->host);
  } else {
    tiers_.host.give_back(*page->host);
  }
  page->host.reset();
  page->staging = false;
  set_candidate(page, false);
  if (!page->file) page->fingerprint.reset();
  note_page(page);
}

Status PageMover::check_file_share() const {
  if (file_read_meter_.in_flight() + file_write_meter_.in_flight() < kMostInFile) return {};
  return Status(Code::kBusy, "the device's limit of file transfers in flight is reached");
}

Status PageMover::spill(PageRef page) {
  TESSERA_TRY(check_file_share());
  Frame frame;
  TESSERA_TRY_ASSIGN(frame, tiers_.file.take(page.page_class()));
  const auto ticket = tiers_.file.write(frame, HostTier::bytes_of(*page->host));
  if (!ticket.is_ok()) {
    tiers_.file.give_back(frame);
    return ticket.status();
  }
  page->file = frame;
  page->io = ticket.value();
  page->started = log_.begin_move(Link::kFileWrite, page.address(), page.bytes());
  file_write_meter_.begin(page->started);
  return step(page, PageEvent::kSink);
}

Status PageMover::load(PageRef page) {
  TESSERA_TRY(check_file_share());
  if (Status status = take_host_frame(page); !status.is_ok()) {
    return Status(Code::kBusy, "no host frame is free for the read");
  }
  const auto ticket = tiers_.file.read(*page->file, HostTier::bytes_of(*page->host));
  if (!ticket.is_ok()) {
    return_host_frame(page);
    return ticket.status();
  }
  page->io = ticket.value();
  page->started = log_.begin_move(Link::kFileRead, page.address(), page.bytes());
  file_read_meter_.begin(page->started);
  return step(page, PageEvent::kRise);
}

// The outcome of its transfer; kNotReady while in flight.
Status PageMover::file_outcome(PageRef page, bool wait) {
  Status outcome = wait ? tiers_.file.wait(page->io) : tiers_.file.poll(page->io);
  if (outcome.code() == Code::kNotReady) return outcome;
  FileMeter& meter = page->state == PageState::kSpilling ? file_write_meter_ : file_read_meter_;
  meter.end(page.bytes(), log_.now());
  return outcome;
}

Result<bool> PageMover::finish_spill(PageRef page, bool wait) {
  const Status outcome = file_outcome(page, wait);
  if (outcome.code() == Code::kNotReady) return false;
  TESSERA_TRY(step(page, PageEvent::kSunk));
  if (!outcome.is_ok()) {  // the host copy stays valid
    tiers_.file.give_back(*page->file);
    page->file.reset();
    return outcome;
  }
  page->onward = false;
  stats_.sinks += 1;
  note_move(page, EventKind::kFileWrite);
  const bool wanted = page.run->is_held() || page.run->prefetch_requested;
  if (!wanted) return_host_frame(page);
  return true;
}

Result<bool> PageMover::finish_load(PageRef page, bool wait) {
  const Status outcome = file_outcome(page, wait);
  if (outcome.code() == Code::kNotReady) return false;
  if (!outcome.is_ok()) {
    const bool lost = outcome.code() == Code::kDataLoss;
    if (lost) {
      drop_copies(page);
    } else {
      return_host_frame(page);
    }
    TESSERA_TRY(step(page, lost ? PageEvent::kLose : PageEvent::kRiseFailed));
    return outcome;
  }
  stats_.loads += 1;
  note_move(page, EventKind::kFileRead);
  TESSERA_TRY(step(page, PageEvent::kRisen));
  return true;
}

void PageMover::drop_copies(PageRef page) {
  return_peer_frame(page);
  return_host_frame(page);
  drop_file_copy(page);
}

void PageMover::drop_file_copy(PageRef page) {
  if (!page->file) return;
  tiers_.file.give_back(*page->file);
  page->file.reset();
  if (!page->host) page->fingerprint.reset();
  note_page(page);
}

Status PageMover::discard(PageRef page) {
  drop_copies(page);
  stats_.discards += 1;
  return step(page, PageEvent::kDiscard);
}

bool PageMover::adopt(PageRef page) {
  if (!page->staging || !tiers_.host.adopt(*page->host).is_ok()) return !page->staging;
  page->staging = false;
  return true;
}

}  // namespace tessera
