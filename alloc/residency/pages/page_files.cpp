#include "residency/pages/page_files.hpp"

namespace tessera {

Status PageFiles::check_share() const {
  if (read_meter_.in_flight() + write_meter_.in_flight() < kMostInFile) return {};
  return Status(Code::kBusy, "the device's limit of file transfers in flight is reached");
}

Status PageFiles::spill(PageRef page) {
  TESSERA_TRY(check_share());
  FileTier& file = machine_.tiers.file;
  Frame frame;
  TESSERA_TRY_ASSIGN(frame, file.take(page.page_class()));
  const auto ticket = file.write(frame, HostTier::bytes_of(*page->host));
  if (!ticket.is_ok()) {
    file.give_back(frame);
    return ticket.status();
  }
  page->file = frame;
  page->transfer.io = ticket.value();
  page->transfer.started = machine_.log.begin_move(Link::kFileWrite, page.address(), page.bytes());
  write_meter_.begin(page->transfer.started);
  return ledger_.step(page, PageEvent::kSink);
}

Status PageFiles::load(PageRef page) {
  TESSERA_TRY(check_share());
  if (!copies_.take_host(page).is_ok()) return Status(Code::kBusy, "no host frame is free for the read");
  const auto ticket = machine_.tiers.file.read(*page->file, HostTier::bytes_of(*page->host));
  if (!ticket.is_ok()) {
    copies_.drop_host(page);
    return ticket.status();
  }
  page->transfer.io = ticket.value();
  page->transfer.started = machine_.log.begin_move(Link::kFileRead, page.address(), page.bytes());
  read_meter_.begin(page->transfer.started);
  return ledger_.step(page, PageEvent::kRise);
}

// Of its transfer; kNotReady while in flight.
Status PageFiles::outcome(PageRef page, bool wait) {
  Status outcome = wait ? machine_.tiers.file.wait(page->transfer.io) : machine_.tiers.file.poll(page->transfer.io);
  if (outcome.code() == Code::kNotReady) return outcome;
  FileMeter& meter = page->state == PageState::kSpilling ? write_meter_ : read_meter_;
  meter.end(page.bytes(), machine_.log.now());
  return outcome;
}

Result<bool> PageFiles::finish_spill(PageRef page, bool wait) {
  const Status ended = outcome(page, wait);
  if (ended.code() == Code::kNotReady) return false;
  TESSERA_TRY(ledger_.step(page, PageEvent::kSunk));
  if (!ended.is_ok()) {  // the host copy stays valid
    machine_.tiers.file.give_back(*page->file);
    page->file.reset();
    return ended;
  }
  page->eviction.onward = false;
  machine_.stats.sinks += 1;
  ledger_.note_move(page, EventKind::kFileWrite);
  const bool wanted = page.run->is_held() || page.run->prefetch.requested;
  if (!wanted) copies_.drop_host(page);
  return true;
}

Result<bool> PageFiles::finish_load(PageRef page, bool wait) {
  const Status ended = outcome(page, wait);
  if (ended.code() == Code::kNotReady) return false;
  if (!ended.is_ok()) {
    const bool lost = ended.code() == Code::kDataLoss;
    if (lost) {
      copies_.drop_all(page);
    } else {
      copies_.drop_host(page);
    }
    TESSERA_TRY(ledger_.step(page, lost ? PageEvent::kLose : PageEvent::kRiseFailed));
    return ended;
  }
  machine_.stats.loads += 1;
  ledger_.note_move(page, EventKind::kFileRead);
  TESSERA_TRY(ledger_.step(page, PageEvent::kRisen));
  return true;
}

}  // namespace tessera
