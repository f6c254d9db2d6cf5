// Sums over the pages of a run: its bytes by state, and its pages by trait.
//
// A base of Run, so that its questions read as the run's own: run.has(PageState::kCold). Written by the ledger
// (page_ledger.hpp, runs_by_trait.hpp) and, for rows, by row.cpp.
//
// Thread safety: none; the engine's lock.
//
// Invariants (validate_run(), validate_row(), RunsByTrait::validate())
//  1. bytes_by_state counts each page in its current state; of a row, those of its parts.
//  2. pages_with counts the pages that have the trait; of a row, none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.hpp"
#include "residency/pages/page_state.hpp"
#include "residency/pages/page_trait.hpp"

namespace tessera {

struct PageBooks {
  std::array<Bytes, kPageStates> bytes_by_state;
  std::array<std::uint32_t, kPageTraits> pages_with{};

  Bytes& bytes_in(PageState state) { return bytes_by_state[static_cast<std::size_t>(state)]; }
  Bytes bytes_in(PageState state) const { return bytes_by_state[static_cast<std::size_t>(state)]; }
  bool has(PageState state) const { return static_cast<bool>(bytes_in(state)); }
  bool has(PageTrait trait) const { return pages_with[static_cast<std::size_t>(trait)] != 0; }
  // Pages that are on the device and in a lower tier as well.
  bool has_copies_beside() const {
    return has(PageTrait::kCopyInPeer) || has(PageTrait::kCopyInHost) || has(PageTrait::kCopyInFile);
  }
  // Bytes that are being evicted.
  Bytes evicting_bytes() const {
    return bytes_in(PageState::kEvicting) + bytes_in(PageState::kChecking) + bytes_in(PageState::kParting) +
           bytes_in(PageState::kApartEvicting) + bytes_in(PageState::kApartChecking);
  }
  // In device memory, or on their way to it or from it.
  Bytes bytes_there() const {
    return bytes_in(PageState::kResident) + evicting_bytes() + bytes_in(PageState::kApart) +
           bytes_in(PageState::kFetching) + bytes_in(PageState::kApartFetching) + bytes_in(PageState::kRecomputing);
  }
  // Bytes of it are being fetched: the frames may be used, but not moved.
  bool is_fetching() const {
    return has(PageState::kFetching) || has(PageState::kApartFetching) || has(PageState::kRecomputing);
  }
  bool awaits_recompute() const { return has(PageState::kGone) || has(PageState::kBlank); }
};

}  // namespace tessera
