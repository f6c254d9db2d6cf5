// Durations of the operations of a recording, of which only some were timed (api/op_times.hpp).
//
// Operations are of one kind when they do the same work on the same number of blocks and bytes. All operations of a
// kind get the median of the timed ones, which the slow first launch of a kernel does not affect.
//
// Thread safety: none.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "lab/replay/trace.hpp"

namespace tessera {

class KindTimes {
 public:
  struct Kind {
    std::uint32_t device = 0;
    std::uint32_t name = 0;  // index into Trace::words
    std::uint64_t blocks = 0;
    Bytes bytes;
    auto operator<=>(const Kind&) const = default;
  };
  void note(const Kind& kind, Nanoseconds time) { times_[kind].push_back(time); }
  // Sets the times of those operations, by index, with a timed operation of their kind.
  void give(Trace& trace, std::span<const std::uint32_t> ops) const;

 private:
  std::map<Kind, std::vector<Nanoseconds>> times_;
};

}  // namespace tessera
