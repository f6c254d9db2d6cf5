// The states of a page, and the table of legal steps between them.
//
// A page's bytes always exist somewhere: the table is written so that every step either keeps a valid copy, has a
// callback that recomputes the bytes, or follows from the bytes being dead. Code changes a page's state only through
// `step`, so an illegal move is an error where it is attempted, not a lost byte later.
//
//   kEmpty     no frame; the contents do not matter (fresh, or all its blocks are free)
//   kResident  a device frame is mapped
//   kEvicting   as kResident, with a copy to the host or a peer in flight
//   kChecking  as kResident, with a check in flight whether its old copy is still valid
//   kParting   as kResident; to be unmapped when the work queued so far is over, and then copied or checked
//   kApart     its device frame has the bytes and is not mapped at the page's address; a use maps it again
//   kApartEvicting   as kApart, with a copy to the host or a peer in flight
//   kApartChecking  as kApart, with a check in flight whether its old copy is still valid
//   kApartFetching  a device frame that is not mapped at the page's address, with a copy into it in flight
//   kCold      no device frame; the bytes are in a peer, host or file frame
//   kSpilling   as kCold in host, with a write to the file in flight
//   kLoading    as kCold in file, with a read to the host in flight
//   kFetching  a device frame is mapped, with a copy into it in flight
//   kZeroCopy  no device frame; a host frame is mapped at the page's address, and kernels use it there
//   kReachable  as kZeroCopy, for kernels that use it unannounced; an announced use fetches it
//   kGone      the bytes exist nowhere; the run's callback recomputes them (recompute.hpp)
//   kBlank     a device frame is mapped for bytes that are to be recomputed
//   kRecomputing  as kBlank, with the recomputing work queued
//   kLost      the bytes could not be read back; every use of the run reports an error
//
// Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "observe/stall_cause.hpp"

namespace tessera {

enum class PageState : std::uint8_t {
  kEmpty,
  kResident,
  kEvicting,
  kChecking,
  kParting,
  kApart,
  kApartEvicting,
  kApartChecking,
  kApartFetching,
  kCold,
  kSpilling,
  kLoading,
  kFetching,
  kGone,
  kBlank,
  kRecomputing,
  kZeroCopy,
  kReachable,
  kLost,
};
inline constexpr std::size_t kPageStates = 19;

enum class PageEvent : std::uint8_t {
  kBack,         // a device frame was mapped; nothing to copy
  kCopyOut,      // the copy to the host or a peer was queued
  kCheck,        // its fingerprint was queued
  kChecked,      // the fingerprint is available
  kForward,      // the copy is done, or could be made now, but the page was used since: it stays
  kPart,         // it is to be evicted once the work before it is over
  kTakeApart,    // that work is over: its frame was unmapped, and is kept
  kUnmap,        // the frame was freed; a valid copy remains
  kDiscard,      // the frame or the copy was dropped; the bytes do not matter
  kSink,         // the write to the file was started
  kSunk,         // the write ended (on success the file copy counts, on failure the host copy stays)
  kRise,         // the read from the file was started
  kRisen,        // the read succeeded: the host copy counts
  kRiseFailed,   // the read failed and may be retried: the file copy stays
  kCopyIn,       // a frame was mapped and the copy into it was queued
  kCopyInApart,  // the copy into a frame was queued, which is mapped when it is done
  kArrive,       // that copy is done
  kDrop,         // the frame or the copy was dropped; the bytes matter and can be recomputed
  kMount,        // a frame was mapped for them
  kRecompute,    // the work that recomputes them was queued
  kRecomputed,   // that work is done
  kMapHost,      // a host frame with its bytes was mapped at its address
  kKeepMapped,   // the same, in place of its device frame, for kernels that use it unannounced
  kLose,         // the only copy turned out to be corrupt
};
inline constexpr std::size_t kPageEvents = static_cast<std::size_t>(PageEvent::kLose) + 1;

const char* name_of(PageState state);
const char* name_of(PageEvent event);

// The next state, or nothing where the step is illegal.
std::optional<PageState> next(PageState state, PageEvent event);

// Whether an eviction is in progress: work for it is on an outbound stream, or is waited for.
constexpr bool is_evicting(PageState state) {
  return state == PageState::kEvicting || state == PageState::kChecking || state == PageState::kParting ||
         state == PageState::kApartEvicting || state == PageState::kApartChecking;
}
// Whether it has a device frame that is not mapped at its address.
constexpr bool is_apart(PageState state) {
  return state == PageState::kApart || state == PageState::kApartEvicting || state == PageState::kApartChecking ||
         state == PageState::kApartFetching;
}
// Whether its bytes are in a device frame that is mapped at its address.
constexpr bool is_on_device(PageState state) {
  return state == PageState::kResident || (is_evicting(state) && !is_apart(state));
}
// Whether a host frame is mapped at its address.
constexpr bool is_in_host(PageState state) { return state == PageState::kZeroCopy || state == PageState::kReachable; }
// Whether a launch may access the page right now: it is mapped and its bytes have arrived.
constexpr bool is_present(PageState state) { return is_on_device(state) || state == PageState::kZeroCopy; }
// Whether a device frame is mapped at its address.
constexpr bool is_mapped(PageState state) {
  return is_on_device(state) || state == PageState::kFetching || state == PageState::kBlank ||
         state == PageState::kRecomputing;
}
// Whether its bytes are being copied to a device frame.
constexpr bool is_arriving(PageState state) {
  return state == PageState::kFetching || state == PageState::kApartFetching;
}
// Whether a transfer, or work that recomputes the bytes, is in flight.
constexpr bool is_moving(PageState state) {
  return is_evicting(state) || state == PageState::kSpilling || state == PageState::kLoading || is_arriving(state) ||
         state == PageState::kRecomputing;
}

// The cause for a wait on the transfer of a page in this state.
StallCause cause_of(PageState state);

}  // namespace tessera
