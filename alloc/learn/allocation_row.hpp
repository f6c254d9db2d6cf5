// The allocations that a program makes again and again, in their order, and how long each block lives.
//
// An allocation is known by its bytes, by whom it is for, and by the bytes that live at that moment. So layers of one
// shape are told apart, and what is the same again is an iteration that has come back to where it began.
//
// Thread safety: none; its owner's lock.
//
// Bounds: of the last kMost allocations it is known who they were; a longer row is not found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/units.hpp"
#include "learn/period_finder.hpp"

namespace tessera {

struct AllocationRow {
  // Steps count allocations and frees from the row's first allocation on.
  struct Block {
    Bytes bytes;
    std::uint64_t kind = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // 0 = not within the row
    bool is_alone = false;  // it was asked for that it has a run of its own
  };
  std::vector<std::uint64_t> signatures;
  std::vector<Block> blocks;
  std::size_t last = 0;  // which of them was made last
  Bytes beside;          // lived when the first was asked for
};

class AllocationLog {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 15;
  static constexpr std::size_t kFewest = 16;  // a row has more

  // Where a block is, and which launches may use it: those behind epoch `made` and before `freed`.
  struct Stay {
    Address address;  // none: it was not served
    bool has_own_run = false;
    std::uint64_t made = 0, freed = 0;  // 0 = it lives
  };
  struct Noted {
    AllocationRow::Block block;  // its steps count from the beginning of the log on
    std::uint64_t signature = 0;
    Bytes lived;  // when it was asked for
    Stay stay{};
  };

  // The next allocation; gives its number. `kind`: what it is for.
  std::uint64_t note(Bytes bytes, std::uint64_t kind);
  // It stays there, or failed.
  void note_served(std::uint64_t number, Bytes bytes, const Stay& stay);
  void note_failed(Bytes bytes) { live_ -= std::min(live_, bytes); }
  // Of a block that was served before this log began nothing is noted. `is_alone`: it could not have shared its run.
  void note_freed(Address address, bool is_alone, std::uint64_t epoch);
  // Allocations and frees will be missing from here on.
  void interrupt();

  // Of the last allocation.
  std::uint64_t signature() const { return blocks_.back().signature; }

  // Of the last ones, as PeriodFinder has it.
  std::optional<std::uint64_t> context() const { return finder_.context(); }
  // The length of the row that has just begun again, or has just been gone through twice: else 0.
  std::size_t begun_again() const;
  // REQUIRES: there is one.
  AllocationRow row() const;
  // So many of the last ones were as these, which are gone through again and again, and of which number `last` came last.
  std::size_t kept_to(std::span<const std::uint64_t> signatures, std::size_t last) const;
  // The last one, 0, and those before it. REQUIRES: it was noted, and is remembered.
  const Noted& before_last(std::size_t back) const { return blocks_[blocks_.size() - 1 - back]; }

 private:
  struct Served {
    std::uint64_t number;
    Bytes bytes;
  };

  PeriodFinder finder_{kMost};
  bool repeats_anew_ = false;  // since the last allocation
  std::deque<Noted> blocks_;
  std::uint64_t first_ = 0;  // number of the oldest of them
  std::unordered_map<std::uint64_t, Served> served_;  // by address: who was noted, and lives
  std::uint64_t step_ = 0;
  Bytes live_;
};

}  // namespace tessera
