// What the calls of a replayed program wait for, and when, as its allocator reports to a profiler.
//
// The causes are those of the engine (observe/stall_cause.hpp), timed where it waits. Nested waits are counted
// separately, so no two overlap.
//
// Thread safety: single-threaded, as the whole replay.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "observe/profiler.hpp"

namespace tessera {

struct HostWait {
  StallCause cause = StallCause::kMapping;
  Nanoseconds begin, end;
};

class HostWaits final : public Profiler {
 public:
  // REQUIRES: `clock` outlives this.
  explicit HostWaits(const Clock& clock) : clock_(clock) {}

  // Keeps waits from here on; earlier ones are forgotten.
  void keep();
  // In order of time, without those of length zero.
  const std::vector<HostWait>& kept() const { return kept_; }

  // Names that are not causes are ignored.
  void push(const char* name, std::uint64_t number) override;
  void pop() override;
  void begin_move(Link, Address, Bytes) override {}
  void end_move(Address) override {}
  void mark(std::string_view, std::uint64_t) override {}

 private:
  // Records the innermost wait up to now; its rest is counted from now on.
  void note();

  const Clock& clock_;
  std::vector<std::optional<StallCause>> open_;
  Nanoseconds since_;
  bool keeps_ = false;
  std::vector<HostWait> kept_;
};

}  // namespace tessera
