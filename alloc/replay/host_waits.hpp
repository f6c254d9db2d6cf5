// What the calls of a replayed program wait for, and when: its allocator tells them, as it tells a profiler.
//
// The causes are the engine's own (observe/stall_cause.hpp), timed where it waits. Waits inside others count for
// themselves, so no two overlap.
//
// Thread safety: one thread, as all of a replay.
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

  // Waits are kept from here on; those before it are forgotten.
  void keep();
  // In the order of time; none that took no time.
  const std::vector<HostWait>& kept() const { return kept_; }

  // A name that is no cause is no wait.
  void push(const char* name, std::uint64_t number) override;
  void pop() override;
  void begin_move(Link, Address, Bytes) override {}
  void end_move(Address) override {}
  void mark(std::string_view, std::uint64_t) override {}

 private:
  // The innermost wait up to now; what follows is counted from now on.
  void note();

  const Clock& clock_;
  std::vector<std::optional<StallCause>> open_;
  Nanoseconds since_;
  bool keeps_ = false;
  std::vector<HostWait> kept_;
};

}  // namespace tessera
