#include "residency/pages/page_state.hpp"

#include <array>

namespace tessera {
namespace {

struct Step {
  PageState from;
  PageEvent event;
  PageState to;
};

using S = PageState;
using E = PageEvent;

constexpr Step kSteps[] = {
    {S::kEmpty, E::kBack, S::kResident},
    {S::kResident, E::kCopyOut, S::kEvicting},
    {S::kResident, E::kUnmap, S::kCold},  // its copy below is still valid: 0 bytes moved
    {S::kResident, E::kDiscard, S::kEmpty},
    {S::kResident, E::kCheck, S::kChecking},
    {S::kChecking, E::kChecked, S::kResident},  // its copy is valid, or has been dropped
    {S::kChecking, E::kDiscard, S::kEmpty},     // as kFetching, below
    {S::kResident, E::kPart, S::kParting},
    {S::kResident, E::kTakeApart, S::kApart},  // its run is rehomed
    {S::kParting, E::kForward, S::kResident},
    {S::kParting, E::kTakeApart, S::kApart},
    {S::kParting, E::kDiscard, S::kEmpty},
    {S::kApart, E::kBack, S::kResident},
    {S::kApart, E::kCopyOut, S::kApartEvicting},
    {S::kApart, E::kCheck, S::kApartChecking},
    {S::kApart, E::kUnmap, S::kCold},  // its old copy proved to be valid
    {S::kApart, E::kDiscard, S::kEmpty},
    {S::kApartEvicting, E::kBack, S::kEvicting},  // it was used: the copy is obsolete
    {S::kApartEvicting, E::kUnmap, S::kCold},
    {S::kApartEvicting, E::kDiscard, S::kEmpty},
    {S::kApartChecking, E::kBack, S::kChecking},
    {S::kApartChecking, E::kChecked, S::kApart},
    {S::kApartChecking, E::kDiscard, S::kEmpty},
    {S::kEvicting, E::kForward, S::kResident},
    {S::kEvicting, E::kUnmap, S::kCold},
    {S::kEvicting, E::kDiscard, S::kEmpty},
    {S::kCold, E::kDiscard, S::kEmpty},
    {S::kCold, E::kSink, S::kSpilling},
    {S::kSpilling, E::kSunk, S::kCold},
    {S::kCold, E::kRise, S::kLoading},
    {S::kLoading, E::kRisen, S::kCold},
    {S::kLoading, E::kRiseFailed, S::kCold},
    {S::kLoading, E::kLose, S::kLost},
    {S::kCold, E::kCopyIn, S::kFetching},
    {S::kCold, E::kCopyInApart, S::kApartFetching},
    {S::kApartFetching, E::kBack, S::kFetching},  // an announced use needs it, or the copy is done
    {S::kApartFetching, E::kUnmap, S::kCold},     // it could not be copied, or not be mapped
    {S::kApartFetching, E::kDiscard, S::kEmpty},  // as kFetching
    {S::kFetching, E::kArrive, S::kResident},
    {S::kFetching, E::kDiscard, S::kEmpty},  // its run ends, and the copy cannot be waited for
    {S::kResident, E::kDrop, S::kGone},      // no copy is made: 0 bytes moved
    {S::kCold, E::kDrop, S::kGone},          // its run is dropped whole
    {S::kGone, E::kMount, S::kBlank},
    {S::kBlank, E::kRecompute, S::kRecomputing},
    {S::kBlank, E::kDrop, S::kGone},  // the callback failed, or was not called
    {S::kRecomputing, E::kRecomputed, S::kResident},
    {S::kGone, E::kDiscard, S::kEmpty},
    {S::kBlank, E::kDiscard, S::kEmpty},
    {S::kBlank, E::kBack, S::kResident},        // its block ended: the contents do not matter
    {S::kRecomputing, E::kDiscard, S::kEmpty},  // as kFetching
    {S::kLost, E::kDiscard, S::kEmpty},
    {S::kEmpty, E::kMapHost, S::kZeroCopy},
    {S::kCold, E::kMapHost, S::kZeroCopy},
    {S::kResident, E::kMapHost, S::kZeroCopy},
    {S::kZeroCopy, E::kBack, S::kResident},
    {S::kZeroCopy, E::kDiscard, S::kEmpty},
    {S::kZeroCopy, E::kLose, S::kLost},  // it could not be mapped any more
    {S::kResident, E::kKeepMapped, S::kReachable},
    {S::kReachable, E::kBack, S::kResident},
    {S::kReachable, E::kMapHost, S::kZeroCopy},  // nothing moves: an announced use finds it there
    {S::kReachable, E::kDiscard, S::kEmpty},
    {S::kReachable, E::kLose, S::kLost},
};

// The steps by state and event, since each move of a page takes a few of them. kNowhere: the step is illegal.
constexpr std::uint8_t kNowhere = kPageStates;
using StepTable = std::array<std::array<std::uint8_t, kPageEvents>, kPageStates>;

constexpr StepTable make_table() {
  StepTable table{};
  for (auto& of_state : table) of_state.fill(kNowhere);
  for (const Step& step : kSteps) {
    table[static_cast<std::size_t>(step.from)][static_cast<std::size_t>(step.event)] =
        static_cast<std::uint8_t>(step.to);
  }
  return table;
}
constexpr StepTable kTable = make_table();

}  // namespace

const char* name_of(PageState state) {
  constexpr const char* kNames[] = {
      "empty",          "resident",       "leaving",   "checking",  "parting", "apart",    "apart-leaving",
      "apart-checking", "apart-arriving", "cold",      "sinking",   "rising",  "arriving", "gone",
      "blank",          "recomputing",    "zero-copy", "reachable", "lost"};
  return kNames[static_cast<std::size_t>(state)];
}

const char* name_of(PageEvent event) {
  constexpr const char* kNames[] = {"back",       "copy-out",    "check",      "checked",       "forward",     "part",
                                    "take-apart", "unmap",       "discard",    "sink",          "sunk",        "rise",
                                    "risen",      "rise-failed", "copy-in",    "copy-in-apart", "arrive",      "drop",
                                    "mount",      "recompute",   "recomputed", "map-host",      "keep-mapped", "lose"};
  return kNames[static_cast<std::size_t>(event)];
}

std::optional<PageState> next(PageState state, PageEvent event) {
  const std::uint8_t to = kTable[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
  return to == kNowhere ? std::nullopt : std::optional(static_cast<PageState>(to));
}

StallCause cause_of(PageState state) {
  switch (state) {
    case PageState::kFetching:
    case PageState::kApartFetching: return StallCause::kCopyIn;
    case PageState::kEvicting:
    case PageState::kChecking:
    case PageState::kApartEvicting:
    case PageState::kApartChecking: return StallCause::kCopyOut;
    case PageState::kSpilling: return StallCause::kFileWrite;
    case PageState::kLoading: return StallCause::kFileRead;
    case PageState::kParting:
    case PageState::kRecomputing: return StallCause::kWork;
    default: return StallCause::kMapping;
  }
}

}  // namespace tessera
