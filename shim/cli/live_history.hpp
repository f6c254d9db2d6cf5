// What a running program did lately, from samples of its statistics: the same as the history that a program keeps of a
// whole run (run_history.hpp), for the last minutes.
//
// Time has slots of equal width; what happened between two samples is spread evenly over the time between them.
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "run_history.hpp"
#include "top_view.hpp"

class LiveHistory {
 public:
  static constexpr std::size_t kSlots = 200;

  explicit LiveHistory(std::uint64_t slot_ns) : slot_ns_(slot_ns) {}

  // Begins anew where the row is of another allocator than the last. REQUIRES: rows of one process, in order.
  void add(const TopRow& row);
  // The last slots. Nothing before there are two samples.
  std::optional<RunHistory> picture() const;

 private:
  struct Slot {
    std::array<double, kHistoryLinks.size()> moved{};
    std::map<std::string, double> waited_ns;                                     // by cause
    std::map<std::string, std::array<double, kPlacesOfPages.size()>> byte_ns{};  // by tag: bytes in each place
  };

  void reach(std::uint64_t time);
  void count(const TopRow& before, const TopRow& after);

  const std::uint64_t slot_ns_;
  std::uint64_t begin_ns_ = 0;  // of the first slot
  std::deque<Slot> slots_;
  std::optional<TopRow> last_;
};
