// One thing that happened to a page, or to a call.
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
  kForward,    // a page-out dropped, the page had been used again
  kPeerFetch, kPeerEvict, kPeerForward,  // the same three over a peer's link
  kDiscard,    // a page left without moving a byte
  kRemake,     // a callback's work made a page's bytes anew
  kStall,      // a call of the program waited for a move
  kMark,       // the program's own mark; bytes is its number
};

constexpr const char* name_of(EventKind kind) {
  constexpr const char* kNames[] = {"fetch",   "evict",   "file_read", "file_write",
                                    "forward", "peer_fetch", "peer_evict", "peer_forward",
                                    "discard", "remake",  "stall",     "mark"};
  return kNames[static_cast<std::size_t>(kind)];
}

struct Event {
  EventKind kind = EventKind::kMark;
  std::uint16_t device = 0;
  Nanoseconds begin;
  Nanoseconds end;
  Address address;
  Bytes bytes;
  StallCause cause = StallCause::kMapping;  // of a stall: what took most of it
};

// The ways that bytes move.
enum class Link : std::uint8_t { kIn, kOut, kFileRead, kFileWrite, kPeerIn, kPeerOut };
inline constexpr std::size_t kLinks = 6;

// The way that bytes moved in this event, if any did.
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

// The nearest tier that has the bytes of a page.
enum class Nearest : std::uint8_t { kNowhere, kDevice, kPeer, kHost, kFile };
inline constexpr std::size_t kPlaces = 4;  // all but nowhere

}  // namespace tessera
