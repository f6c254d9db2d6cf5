// Index of the runs with pages that could be evicted, or copies that could be dropped. Evictions scan only those, since
// most runs of a large program may be cold.
//
// One bit per run and trait, in the order of the engine's list: thousands of runs take few words, and runs are found in
// the order of a full scan. A run that moves in the list takes its bits along.
//
// Thread safety: none; the engine's lock.
//
// Invariants: validate(): a run's bit is set exactly while it counts such a page.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "residency/pages/run.hpp"

namespace tessera {

class RunsByTrait {
 public:
  // Updates the traits that the page is counted by.
  void note(Run& run, Page& page);
  // The run at `index` is gone, and the last one takes its place.
  void remove(std::size_t index, std::size_t last);

  // Runs with such a page; tested when the iterator reaches them, as an action on one run may change others.
  class Range;
  Range of(const RunList& runs, PageTrait trait) const;

  Status validate(const RunList& runs) const;

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  bool has(std::size_t index, std::size_t trait) const;
  void set(std::size_t index, std::size_t trait, bool value);
  // The first at or after this index.
  std::size_t next(std::size_t index, std::size_t trait) const;

  std::array<std::vector<std::uint64_t>, kPageTraits> words_;
};

class RunsByTrait::Range {
 public:
  Range(const RunsByTrait& by_trait, const RunList& runs, std::size_t trait)
      : by_trait_(by_trait), runs_(runs), trait_(trait) {}

  class Iterator {
   public:
    Iterator(const Range& range, std::size_t from) : range_(range), at_(range.next(from)) {}
    Run& operator*() const { return *range_.runs_[at_]; }
    Iterator& operator++() {
      at_ = range_.next(at_ + 1);
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return at_ == kNone; }

   private:
    const Range& range_;
    std::size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::size_t next(std::size_t from) const { return by_trait_.next(from, trait_); }

  const RunsByTrait& by_trait_;
  const RunList& runs_;
  std::size_t trait_;
};

inline RunsByTrait::Range RunsByTrait::of(const RunList& runs, PageTrait trait) const {
  return {*this, runs, static_cast<std::size_t>(trait)};
}

}  // namespace tessera
