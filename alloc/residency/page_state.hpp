// The states of a page, and the table of legal steps between them.
//
// A page's bytes are always somewhere: the table is written so that every step either keeps a valid
// copy, has a callback that remakes them, or follows from nobody needing them (DESIGN §6.1). Code moves
// a page only through `step`, so an illegal move is an error at the place that tried it, not a lost
// byte later.
//
//   kEmpty     nothing behind it; the bytes do not matter (fresh, or its blocks are all free)
//   kResident  a device frame is mapped
//   kLeaving   as kResident, and a copy to the host or a peer is in flight
//   kChecking  as kResident, and it is being found out whether the copy it came from is still valid
//   kParting   as kResident; when the work queued so far is over it is unmapped, and copied or asked then
//   kApart     its device frame has the bytes and is not mapped at the page's address: a use maps it again
//   kApartLeaving   as kApart, and a copy to the host or a peer is in flight
//   kApartChecking  as kApart, and it is being found out whether the copy it came from is still valid
//   kCold      no device frame; the bytes are in a peer, a host or a file frame
//   kSinking   as kCold in host, and a write of it to the file is in flight
//   kRising    as kCold in file, and a read of it to the host is in flight
//   kArriving  a device frame is mapped, and a copy into it is in flight
//   kGone      the bytes are nowhere; the run's callback remakes them (remake.hpp)
//   kBlank     a device frame is mapped for bytes that are to be remade
//   kRemaking  as kBlank, and the work that remakes them is queued
//   kLost      the bytes could not be brought back; every use of the run reports it
//
// Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tessera {

enum class PageState : std::uint8_t {
  kEmpty, kResident, kLeaving, kChecking, kParting, kApart, kApartLeaving, kApartChecking,
  kCold, kSinking, kRising, kArriving, kGone, kBlank, kRemaking, kLost,
};
inline constexpr std::size_t kPageStates = 16;

enum class PageEvent : std::uint8_t {
  kBack,      // a device frame was mapped; nothing to copy
  kCopyOut,   // the copy to the host or a peer was queued
  kCheck,     // its fingerprint was asked for
  kChecked,   // the answer is there
  kForward,   // the copy is done, or could be made now, but the page was used since: it stays
  kPart,      // it shall leave when the work before it is over
  kTakeApart,  // that work is over: its frame was unmapped, and is kept
  kUnmap,     // the frame was taken away; a valid copy remains
  kDiscard,   // the frame or the copy was dropped; the bytes do not matter
  kSink,      // the write to the file was started
  kSunk,      // the write ended (well: the file copy counts; ill: the host copy stays)
  kRise,      // the read from the file was started
  kRisen,     // the read ended well: the host copy counts
  kRiseFailed,  // the read ended ill, and may be tried again: the file copy stays
  kCopyIn,    // a frame was mapped and the copy into it was queued
  kArrive,    // that copy is done
  kDrop,      // the frame or the copy was dropped; the bytes matter, and can be remade
  kMount,     // a frame was mapped for them
  kRemake,    // the work that remakes them was queued
  kRemade,    // that work is done
  kLose,      // the only copy turned out to be corrupt
};

const char* name_of(PageState state);
const char* name_of(PageEvent event);

// The state that follows, or nothing where the step is illegal.
std::optional<PageState> next(PageState state, PageEvent event);

// Whether it may soon have left: work for that is on an outbound stream, or is waited for.
constexpr bool is_going(PageState state) {
  return state == PageState::kLeaving || state == PageState::kChecking || state == PageState::kParting ||
         state == PageState::kApartLeaving || state == PageState::kApartChecking;
}
// Whether it has a device frame that is not mapped at its address.
constexpr bool is_apart(PageState state) {
  return state == PageState::kApart || state == PageState::kApartLeaving || state == PageState::kApartChecking;
}
// Whether a launch may touch the page right now: mapped, and its bytes are not still to come.
constexpr bool is_present(PageState state) {
  return state == PageState::kResident || (is_going(state) && !is_apart(state));
}
// Whether a device frame is mapped at its address.
constexpr bool is_mapped(PageState state) {
  return is_present(state) || state == PageState::kArriving || state == PageState::kBlank ||
         state == PageState::kRemaking;
}
// Whether a transfer is in flight, or work that remakes the bytes.
constexpr bool is_moving(PageState state) {
  return is_going(state) || state == PageState::kSinking ||
         state == PageState::kRising || state == PageState::kArriving ||
         state == PageState::kRemaking;
}

}  // namespace tessera
