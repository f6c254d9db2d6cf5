// A planned stay of a run, or of a part of it, away from the device: leave after this step, be back for that one.
//
// What every published strategy boils down to (papers.md §8): which gaps to use, when the way back
// begins, and where the bytes are meanwhile.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <vector>

#include "learn/iteration.hpp"

namespace tessera {

// Who finds no room with a peer is in the host, and the file has what the host has no room for, too.
enum class Away : std::uint8_t { kHost, kFile, kRegenerated, kPeer };

// More than any run has.
inline constexpr Bytes kWholeRun{~std::uint64_t{0}};

struct Absence {
  Gap gap;
  // The way back begins when this step is launched. gap.until: not before it is needed, so late.
  // When the gap wraps, a step behind gap.after is of the same iteration, others of the next.
  std::uint32_t back_at = 0;
  Away to = Away::kHost;
  Bytes part = kWholeRun;  // so much of the run goes, in whole pages from its end; the rest stays
};

// What a plan may count on. Rates are bytes per second; 0 = there is no such link.
struct Machine {
  Bytes device{};  // for the runs of the iteration
  Bytes small{};   // and so much more of it that small runs take
  Bytes host{};
  Bytes file{};
  double out_rate = 0;
  double in_rate = 0;
  double file_write_rate = 0;
  double file_read_rate = 0;
  Bytes peer{};          // of another device that may be borrowed
  double peer_rate = 0;  // each way, all links to it together
  bool unseen = false;      // work may use runs that it does not name: Residency::expect_unseen_work()
  std::uint32_t grace = 0;  // then: launches on its stream that a run stays for after a use
};

inline bool has_peer(const Machine& machine) { return machine.peer && machine.peer_rate > 0; }
inline bool has_file(const Machine& machine) { return machine.file_write_rate > 0 && machine.file_read_rate > 0; }

using AbsencePlan = std::vector<Absence>;

}  // namespace tessera
