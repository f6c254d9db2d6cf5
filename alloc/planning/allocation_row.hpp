// Detects the sequence of allocations (the row) that a program repeats, and how long each block lives.
//
// An allocation is identified by its size, its kind (stream and tag), and the bytes that are live at that
// moment. The last one separates layers of the same shape; when it matches too, the iteration has returned to
// its start.
//
// Thread safety: none; the owner locks.
//
// Bounds: the last kMost allocations are remembered; a longer row is not found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/epoch.hpp"
#include "base/units.hpp"
#include "planning/period_finder.hpp"

namespace tessera {

struct AllocationRow {
  // Steps count allocations and frees from the row's first allocation on.
  struct Block {
    Bytes bytes;
    std::uint64_t kind = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // 0: not freed within the row
    bool is_alone = false;  // it must have a run of its own
  };
  std::vector<std::uint64_t> signatures;
  std::vector<Block> blocks;
  std::size_t last = 0;  // the index of the latest allocation
  Bytes beside;          // live when the first block was requested
};

class AllocationLog {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 15;
  static constexpr std::size_t kFewest = 16;  // minimum length of a row

  // A block's location and lifetime: launches after epoch `made` and before `freed` may use it.
  struct Stay {
    Address address;  // null: the allocation was not served
    bool has_own_run = false;
    Epoch made{}, freed{};  // freed never: still live
  };
  struct Noted {
    AllocationRow::Block block;  // its steps count from the start of the log
    std::uint64_t signature = 0;
    Bytes lived;  // live bytes at the request
    Stay stay{};
  };

  // Records the next allocation and returns its number. `kind` identifies what it is for.
  std::uint64_t note(Bytes bytes, std::uint64_t kind);
  // Records where the block is, or that the allocation failed.
  void note_served(std::uint64_t number, Bytes bytes, const Stay& stay);
  void note_failed(Bytes bytes) { live_ -= std::min(live_, bytes); }
  // Blocks served before this log began are ignored. `is_alone`: it could not have shared its run.
  void note_freed(Address address, bool is_alone, Epoch epoch);
  // Allocations and frees will be missing from here on.
  void interrupt();

  // The signature of the latest allocation.
  std::uint64_t signature() const { return blocks_.back().signature; }

  // The context of the latest allocations, as defined by PeriodFinder.
  std::optional<std::uint64_t> context() const { return finder_.context(); }
  // The length of the row if it has just begun again or has just completed its second pass, else 0.
  std::size_t begun_again() const;
  // REQUIRES: begun_again() is not 0.
  AllocationRow row() const;
  // How many of the latest allocations match this cyclic sequence, if its element `last` was the latest.
  std::size_t kept_to(std::span<const std::uint64_t> signatures, std::size_t last) const;
  // The latest allocation (0), or one before it. REQUIRES: it was recorded and is still remembered.
  const Noted& before_last(std::size_t back) const { return blocks_[blocks_.size() - 1 - back]; }

 private:
  struct Served {
    std::uint64_t number;
    Bytes bytes;
  };

  PeriodFinder finder_{kMost};
  bool repeats_anew_ = false;  // since the latest allocation
  std::deque<Noted> blocks_;
  std::uint64_t first_ = 0;                           // number of the oldest one remembered
  std::unordered_map<std::uint64_t, Served> served_;  // live recorded blocks, by address
  std::uint64_t step_ = 0;
  Bytes live_;
};

}  // namespace tessera
