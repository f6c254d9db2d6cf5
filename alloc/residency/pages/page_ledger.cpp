#include "residency/pages/page_ledger.hpp"

#include <fmt/core.h>

namespace tessera {
namespace {

Location nearest_of(const Page& page) {
  if (is_mapped(page.state) || is_apart(page.state)) return Location::kDevice;
  if (page.peer) return Location::kPeer;
  if (page.host && page.state != PageState::kLoading) return Location::kHost;
  return page.file ? Location::kFile : Location::kNowhere;
}

bool is_copied(PageState state) { return state == PageState::kEvicting || state == PageState::kApartEvicting; }

bool is_copied_to_host(const Page& page, PageState state) { return is_copied(state) && !page.peer; }

}  // namespace

Status PageLedger::step(PageRef page, PageEvent event) {
  const auto to = next(page->state, event);
  if (!to) {
    return Status(Code::kInternal, fmt::format("page {:#x}: {} is not a valid transition from {}",
                                               page.address().value(), name_of(event), name_of(page->state)));
  }
  const bool was_present = is_present(page->state);
  const Bytes bytes = page.bytes();
  page.run->bytes_in(page->state) -= bytes;
  page.run->bytes_in(*to) += bytes;
  if (Run* const row = page.run->row) {
    row->bytes_in(page->state) -= bytes;
    row->bytes_in(*to) += bytes;
  }
  if (is_moving(page->state)) moving_[static_cast<std::size_t>(page->state)] -= bytes;
  if (is_moving(*to)) moving_[static_cast<std::size_t>(*to)] += bytes;
  if (is_copied_to_host(*page, page->state)) copying_to_host_ -= bytes;
  if (is_copied_to_host(*page, *to)) copying_to_host_ += bytes;
  if (page->peer && page->state == PageState::kResident) idle_peer_bytes_ -= bytes;
  if (page->peer && *to == PageState::kResident) idle_peer_bytes_ += bytes;
  page->state = *to;
  if (was_present && !is_present(*to)) page.run->add_missing();
  if (!was_present && is_present(*to)) page.run->drop_missing();
  note_frames(page);
  return {};
}

void PageLedger::note_frames(PageRef page) {
  by_trait_.note(*page.run, *page);
  const Location place = nearest_of(*page);
  by_tag_.move(page.run->tag, page->place, place, page.bytes());
  machine_.log.change_place(page.run->tag, page->place, place, page.bytes());
  page->place = place;
}

void PageLedger::note_peer_frame(PageRef page) {
  if (page->state == PageState::kResident) idle_peer_bytes_ += page.bytes();
  if (is_copied(page->state)) copying_to_host_ -= page.bytes();
}

void PageLedger::note_peer_frame_leaving(PageRef page) {
  if (page->state == PageState::kResident) idle_peer_bytes_ -= page.bytes();
  if (is_copied(page->state)) copying_to_host_ += page.bytes();
}

void PageLedger::note_move(PageRef page, EventKind kind) {
  ResidencyStats& stats = machine_.stats;
  const std::array<Bytes*, kLinks> sums = {&stats.bytes_in,           &stats.bytes_out,     &stats.bytes_file_read,
                                           &stats.bytes_file_written, &stats.bytes_peer_in, &stats.bytes_peer_out};
  const auto link = static_cast<std::size_t>(*link_of(kind));
  *sums[link] += page.bytes();
  page.run->whole().cost.moved[link] += page.bytes();
  machine_.log.record(kind, machine_.device, page->transfer.started, page.address(), page.bytes());
}

void PageLedger::forget(const Run& run) {
  for (std::size_t i = 0; i < kPageStates; ++i) {
    const auto state = static_cast<PageState>(i);
    if (is_moving(state)) moving_[i] -= run.bytes_in(state);
  }
  // Frames that cannot be unmapped are lost, but they are no longer the tag's.
  for (std::uint32_t i = 0; i < run.pages.size(); ++i) {
    const Page& page = run.pages[i];
    const Bytes bytes = page_bytes(run.shape.page_class(i));
    if (is_copied_to_host(page, page.state)) copying_to_host_ -= bytes;
    by_tag_.move(run.tag, page.place, Location::kNowhere, bytes);
  }
}

Status PageLedger::validate(const RunList& runs) const {
  Bytes idle_with_peer, to_host;
  BytesByTag by_tag;
  for (const auto& run : runs) {
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      const Page& page = run->pages[i];
      const Bytes bytes = page_bytes(run->shape.page_class(i));
      if (page.peer && page.state == PageState::kResident) idle_with_peer += bytes;
      if (is_copied_to_host(page, page.state)) to_host += bytes;
      by_tag.move(run->tag, Location::kNowhere, page.place, bytes);
    }
  }
  if (by_tag.sums() != by_tag_.sums()) return Status(Code::kInternal, "the bytes of a tag do not add up");
  if (to_host != copying_to_host_) return Status(Code::kInternal, "the copies to the host do not add up");
  if (idle_with_peer == idle_peer_bytes_) return {};
  return Status(Code::kInternal, "the idle copies on a peer do not add up");
}

}  // namespace tessera
