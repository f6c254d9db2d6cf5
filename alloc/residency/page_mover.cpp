#include "residency/page_mover.hpp"

#include <fmt/format.h>

#include "base/log.hpp"

namespace tessera {
namespace {

// A driver may say "not ready" while other threads queue work (cuda_facts §4.2): harmless, but not
// for ever.
constexpr int kAccessTries = 64;

// Calls `visit(address, bytes, first, count)` for each stretch of pages with no gap in addresses.
template <class Visit>
Status for_each_stretch(std::span<const PageRef> pages, Visit visit) {
  for (std::size_t first = 0; first < pages.size();) {
    std::size_t end = first + 1;
    Address next = pages[first].address() + pages[first].bytes();
    while (end < pages.size() && pages[end].address() == next) next = next + pages[end++].bytes();
    TESSERA_TRY(visit(pages[first].address(), next - pages[first].address(),
                      pages.subspan(first, end - first)));
    first = end;
  }
  return {};
}

}  // namespace

PageMover::PageMover(Driver& driver, DeviceId device, TierStack tiers, Gate& gate, EventLog& log,
                     ResidencyStats& stats, StreamId inbound, StreamId outbound)
    : driver_(driver), device_(device), tiers_(tiers), gate_(gate), log_(log), stats_(stats),
      inbound_(inbound), outbound_(outbound) {}

PageMover::~PageMover() {
  for (EventId event : spare_events_) {
    if (Status status = driver_.destroy_event(event); !status.is_ok()) {
      log_line(LogLevel::kDebug, "an event could not be destroyed: {}", status.to_string());
    }
  }
}

Status PageMover::step(PageRef page, PageEvent event) {
  const auto to = next(page->state, event);
  if (!to) {
    return Status(Code::kInternal, fmt::format("page {:#x}: {} is no step from {}",
                                               page.address().value(), name_of(event),
                                               name_of(page->state)));
  }
  const bool was_present = is_present(page->state);
  page->state = *to;
  if (was_present && !is_present(*to)) page.run->missing.fetch_add(1);
  if (!was_present && is_present(*to)) page.run->missing.fetch_sub(1);
  return {};
}

Result<EventId> PageMover::take_event() {
  if (spare_events_.empty()) return driver_.create_event(device_);
  const EventId event = spare_events_.back();
  spare_events_.pop_back();
  return event;
}

// ---- onto the device ----------------------------------------------------------------------------

Status PageMover::mount(std::span<const PageRef> pages) {
  std::size_t mapped = 0;
  Status status;
  while (mapped < pages.size() && (status = map_frame(pages[mapped])).is_ok()) ++mapped;
  const auto ready = pages.first(mapped);
  if (Status access = grant_access(ready); !access.is_ok()) {
    for (const PageRef& page : ready) unmap_frame(page);
    return access;
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (Status fill = fill_frame(ready[i]); !fill.is_ok()) {
      for (const PageRef& page : ready.subspan(i)) unmap_frame(page);
      return fill;
    }
  }
  return status;
}

Status PageMover::map_frame(PageRef page) {
  Frame frame;
  TESSERA_TRY_ASSIGN(frame, tiers_.device.take(page.page_class()));
  if (Status status = driver_.map(page.address(), page.bytes(), FrameId(frame.value));
      !status.is_ok()) {
    tiers_.device.give_back(frame);
    return status;
  }
  page->device = frame;
  return {};
}

// Undoes map_frame for a page that did not get further.
void PageMover::unmap_frame(PageRef page) {
  if (Status status = driver_.unmap(page.address(), page.bytes()); !status.is_ok()) {
    // The frame stays out and the address stays taken: a leak, said aloud, not a lost byte.
    log_line(LogLevel::kError, "a page could not be unmapped: {}", status.to_string());
  } else {
    tiers_.device.give_back(*page->device);
  }
  page->device.reset();
}

Status PageMover::grant_access(std::span<const PageRef> pages) {
  return for_each_stretch(pages, [&](Address address, Bytes bytes, std::span<const PageRef>) {
    Status status;
    for (int i = 0; i < kAccessTries; ++i) {
      status = driver_.set_access(address, bytes, device_);
      if (status.code() != Code::kNotReady) return status;
      TESSERA_TRY(driver_.synchronize(inbound_));
    }
    return status;
  });
}

Status PageMover::fill_frame(PageRef page) {
  if (page->state == PageState::kEmpty) return step(page, PageEvent::kBack);
  EventId event;
  TESSERA_TRY_ASSIGN(event, take_event());
  Status status = driver_.copy_in(page.address(), HostTier::bytes_of(*page->host), page.bytes(),
                                  inbound_);
  if (status.is_ok()) status = driver_.record_event(event, inbound_);
  if (!status.is_ok()) {
    spare_events_.push_back(event);
    return status;
  }
  page->event = event;
  page->started = log_.now();
  return step(page, PageEvent::kCopyIn);
}

Result<bool> PageMover::event_done(EventId event, bool wait) {
  const Status status = wait ? driver_.synchronize(event) : driver_.query(event);
  if (status.code() == Code::kNotReady) return false;
  if (!status.is_ok()) return status;
  return true;
}

Result<bool> PageMover::finish_arrival(PageRef page, bool wait) {
  bool done = false;
  TESSERA_TRY_ASSIGN(done, event_done(page->event, wait));
  if (!done) return false;
  TESSERA_TRY(step(page, PageEvent::kArrive));
  spare_events_.push_back(page->event);
  stats_.fetches += 1;
  stats_.bytes_in += page.bytes();
  log_.record(EventKind::kFetch, device_, page->started, page.address(), page.bytes());
  if (!is_clean(page)) {
    drop_copies(page);
  } else if (page->staging) {
    return_host_frame(page);  // the file still has it
  }
  return true;
}

// ---- off the device -----------------------------------------------------------------------------

Status PageMover::take_host_frame(PageRef page) {
  auto frame = tiers_.host.take(page.page_class());
  page->staging = !frame.is_ok();
  if (page->staging) {
    frame = tiers_.host.take_staging(page.page_class());
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
  if (page->staging) {
    tiers_.host.give_back_staging(*page->host);
  } else {
    tiers_.host.give_back(*page->host);
  }
  page->host.reset();
  page->staging = false;
}

Status PageMover::copy_out(PageRef page) {
  drop_copies(page);  // they are stale, or the page would not have to be copied
  EventId event;
  TESSERA_TRY_ASSIGN(event, take_event());
  Status status = take_host_frame(page);
  if (status.is_ok()) {
    status = driver_.copy_out(HostTier::bytes_of(*page->host), page.address(), page.bytes(),
                              outbound_);
    if (status.is_ok()) status = driver_.record_event(event, outbound_);
    if (!status.is_ok()) return_host_frame(page);
  }
  if (!status.is_ok()) {
    spare_events_.push_back(event);
    return status;
  }
  page->event = event;
  page->started = log_.now();
  return step(page, PageEvent::kCopyOut);
}

Result<bool> PageMover::copied_out(PageRef page, bool wait) { return event_done(page->event, wait); }

bool PageMover::is_clean(const PageRef& page) {
  return (page->host || page->file) && page->copied >= page.run->written.load();
}

// What shall happen to the page's frame. The gate is closed, so no use can be stamped meanwhile.
PageMover::Verdict PageMover::judge(PageRef page) const {
  const Run& run = *page.run;
  const bool leaving = page->state == PageState::kLeaving;
  const bool quiet = run.used.load() <= run.quiet && run.may_leave();
  if (!quiet) return leaving ? Verdict::kForward : Verdict::kStay;
  if (run.is_dead()) return Verdict::kDiscard;
  return leaving || is_clean(page) ? Verdict::kUnmap : Verdict::kStay;
}

Status PageMover::vacate(std::span<const PageRef> pages) {
  if (pages.empty()) return {};
  std::vector<PageRef> going;
  std::vector<bool> dead;  // as judged: an allocation may revive the run before its page is gone
  const Gate::Closed closed(gate_);
  for (const PageRef& page : pages) {
    // Announce the page as missing before asking whether its run is dead: an allocation counts
    // itself live first and looks for missing pages then, so one of the two sees the other.
    page.run->missing.fetch_add(1);
    const Verdict verdict = judge(page);
    if (verdict == Verdict::kUnmap || verdict == Verdict::kDiscard) {
      going.push_back(page);
      dead.push_back(verdict == Verdict::kDiscard);
      continue;
    }
    page.run->missing.fetch_sub(1);
    if (verdict == Verdict::kForward) TESSERA_TRY(forward(page));
  }
  return for_each_stretch(going, [&](Address address, Bytes bytes, std::span<const PageRef> part) {
    const Status unmapped = driver_.unmap(address, bytes);
    for (const PageRef& page : part) {
      const bool discard = dead[static_cast<std::size_t>(&page - going.data())];
      const Status left = unmapped.is_ok() ? release_frame(page, discard) : keep_frame(page);
      page.run->missing.fetch_sub(1);
      TESSERA_TRY(left);
    }
    return unmapped;
  });
}

// The page's copy is done, but it was used since: drop the copy, keep the page.
Status PageMover::forward(PageRef page) {
  spare_events_.push_back(page->event);
  return_host_frame(page);
  stats_.forwards += 1;
  log_.record(EventKind::kForward, device_, page->started, page.address(), page.bytes());
  return step(page, PageEvent::kForward);
}

Status PageMover::keep_frame(PageRef page) {
  return page->state == PageState::kLeaving ? forward(page) : Status();
}

Status PageMover::release_frame(PageRef page, bool dead) {
  const bool copied = page->state == PageState::kLeaving;
  tiers_.device.give_back(*page->device);
  page->device.reset();
  if (copied) {
    spare_events_.push_back(page->event);
    stats_.evictions += 1;
    stats_.bytes_out += page.bytes();
    log_.record(EventKind::kEvict, device_, page->started, page.address(), page.bytes());
  }
  if (dead) {
    drop_copies(page);
    stats_.discards += 1;
    return step(page, PageEvent::kDiscard);
  }
  if (!copied) {
    stats_.clean_evictions += 1;
    log_.record(EventKind::kDiscard, device_, log_.now(), page.address(), page.bytes());
  }
  return step(page, PageEvent::kUnmap);
}

// ---- between host and file ----------------------------------------------------------------------

Status PageMover::sink(PageRef page) {
  Frame frame;
  TESSERA_TRY_ASSIGN(frame, tiers_.file.take(page.page_class()));
  const auto ticket = tiers_.file.write(frame, HostTier::bytes_of(*page->host));
  if (!ticket.is_ok()) {
    tiers_.file.give_back(frame);
    return ticket.status();
  }
  page->file = frame;
  page->io = ticket.value();
  page->started = log_.now();
  return step(page, PageEvent::kSink);
}

Status PageMover::rise(PageRef page) {
  if (Status status = take_host_frame(page); !status.is_ok()) {
    return Status(Code::kBusy, "no host frame is free to read into");
  }
  const auto ticket = tiers_.file.read(*page->file, HostTier::bytes_of(*page->host));
  if (!ticket.is_ok()) {
    return_host_frame(page);
    return ticket.status();
  }
  page->io = ticket.value();
  page->started = log_.now();
  return step(page, PageEvent::kRise);
}

Result<bool> PageMover::finish_sink(PageRef page, bool wait) {
  const Status outcome = wait ? tiers_.file.wait(page->io) : tiers_.file.poll(page->io);
  if (outcome.code() == Code::kNotReady) return false;
  TESSERA_TRY(step(page, PageEvent::kSunk));
  if (!outcome.is_ok()) {  // the host copy stays the valid one
    tiers_.file.give_back(*page->file);
    page->file.reset();
    return outcome;
  }
  stats_.sinks += 1;
  stats_.bytes_file_written += page.bytes();
  log_.record(EventKind::kFileWrite, device_, page->started, page.address(), page.bytes());
  if (page.run->holds.load() == 0) return_host_frame(page);  // else it is wanted back right now
  return true;
}

Result<bool> PageMover::finish_rise(PageRef page, bool wait) {
  const Status outcome = wait ? tiers_.file.wait(page->io) : tiers_.file.poll(page->io);
  if (outcome.code() == Code::kNotReady) return false;
  if (!outcome.is_ok()) {
    return_host_frame(page);
    const bool lost = outcome.code() == Code::kDataLoss;
    TESSERA_TRY(step(page, lost ? PageEvent::kLose : PageEvent::kRiseFailed));
    return outcome;
  }
  stats_.rises += 1;
  stats_.bytes_file_read += page.bytes();
  log_.record(EventKind::kFileRead, device_, page->started, page.address(), page.bytes());
  TESSERA_TRY(step(page, PageEvent::kRisen));
  return true;
}

void PageMover::drop_copies(PageRef page) {
  return_host_frame(page);
  if (page->file) {
    tiers_.file.give_back(*page->file);
    page->file.reset();
  }
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
