// One event in the life of a page or of a call.
//
// Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/units.hpp"
#include "observe/stall_cause.hpp"

namespace tessera {

enum class EventKind : std::uint8_t {
  kFetch,      // host to device
  kEvict,      // device to host
  kFileRead,   // file to host
  kFileWrite,  // host to file
  kForward,    // an eviction cancelled because the page was used again
  kPeerFetch,
  kPeerEvict,
  kPeerForward,  // the same three over a peer link
  kDiscard,      // an eviction without a copy
  kRecompute,    // a callback recomputed a page's bytes
  kStall,        // a call of the program waited for a move
  kMark,         // a mark set by the program; bytes is its number
};

constexpr const char* name_of(EventKind kind) {
  constexpr const char* kNames[] = {"fetch",      "evict",        "file_read", "file_write", "forward", "peer_fetch",
                                    "peer_evict", "peer_forward", "discard",   "recompute",  "stall",   "mark"};
  return kNames[static_cast<std::size_t>(kind)];
}

struct Event {
  EventKind kind = EventKind::kMark;
  std::uint16_t device = 0;
  Nanoseconds begin;
  Nanoseconds end;
  Address address;
  Bytes bytes;
  StallCause cause = StallCause::kMapping;  // for a stall: what took most of it
};

// The directions in which bytes move.
enum class Link : std::uint8_t { kIn, kOut, kFileRead, kFileWrite, kPeerIn, kPeerOut };
inline constexpr std::size_t kLinks = 6;

// The link that an event used, if it moved bytes.
constexpr std::optional<Link> link_of(EventKind kind) {
  switch (kind) {
    case EventKind::kFetch: return Link::kIn;
    case EventKind::kEvict:
    case EventKind::kForward: return Link::kOut;
    case EventKind::kFileRead: return Link::kFileRead;
    case EventKind::kFileWrite: return Link::kFileWrite;
    case EventKind::kPeerFetch: return Link::kPeerIn;
    case EventKind::kPeerEvict:
    case EventKind::kPeerForward: return Link::kPeerOut;
    default: return std::nullopt;
  }
}

}  // namespace tessera
