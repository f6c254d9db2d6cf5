// Times for the operations of a recording, which times only some (api/op_times.hpp).
//
// Operations are of one kind when the same work is done on as many blocks with as many bytes together. All of a kind
// took as long as the median of those that were timed, which the first launch of a kernel, slow as it is, does not move.
//
// Thread safety: none.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "replay/trace.hpp"

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
  // To those operations, by index, of whose kind one was timed.
  void give(Trace& trace, std::span<const std::uint32_t> ops) const;

 private:
  std::map<Kind, std::vector<Nanoseconds>> times_;
};

}  // namespace tessera
