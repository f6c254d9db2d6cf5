// Addresses that a small kernel was given, and may have written into memory for later kernels.
//
// Grouped matrix products and batched linear algebra launch a kernel of one block that writes a table of addresses,
// then kernels that are given only the table (pytorch#150421, pytorch#100997, TransformerEngine#2502). What the first
// kernel wrote is not visible, but its arguments are: any of its addresses may be stored behind any other. So a later
// launch that is given one of them soon after gets the others as uncertain words, which are fetched as far as they fit.
//
// Only kernels of one block count. Larger kernels compute on the blocks that they are given.
//
// Thread safety: any thread. A program without such kernels pays one load per launch.
//
// Bounds: kMost kernels are remembered, with kMostWords addresses each, for kLaunches launches.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "cuda_api.hpp"
#include "found_words.hpp"
#include "launch_facts.hpp"

namespace tessera::preload {

class HandedAddresses {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostWords = 256;
  static constexpr std::uint64_t kLaunches = 32;
  // A table may begin up to this many bytes behind the address that the kernel was given.
  static constexpr CUdeviceptr kReach = 16 << 10;

  // `any` becomes whether a launch has to ask. REQUIRES: it outlives this.
  explicit HandedAddresses(std::atomic<bool>& any) : any_(any) {}

  // A kernel of one block is launched with the certain words `given`; `named` are the words that tables name for it. A
  // later launch of the same kernel with the same address replaces the earlier entry. `named` excludes addresses handed
  // to this kernel by others; otherwise each kernel of a sequence would hand on the arguments of all kernels before it.
  void note(const char* kernel, std::span<const std::uint64_t> given, std::span<const std::uint64_t> named);
  // Whether a table that begins at one address may hold the other, which is less than kReach behind it.
  using InOneBlock = bool (*)(CUdeviceptr at, CUdeviceptr word);
  // Call once for each launch while `any` is true: whether earlier kernels may have handed anything to this one.
  bool may_add(std::span<const std::uint64_t> given, InOneBlock in_one_block);
  // Adds the addresses that they may have handed on, ahead of the other uncertain words.
  void add_handed(Words& words, InOneBlock in_one_block);
  void forget_all();

 private:
  // What a launch looks at for each of them: two share a cache line.
  struct Key {
    const char* kernel = nullptr;  // by name
    std::uint64_t first = 0;       // of the addresses given to it
    std::uint64_t launch = 0;      // 0: replaced by a later one
    std::uint64_t pages = 0;       // table_bits() of all of them
  };
  struct Lists {
    std::vector<std::uint64_t> given, named;  // `given` has each once
  };

  static std::uint64_t page_bit(std::uint64_t address);
  static std::uint64_t table_bits(std::uint64_t given);
  // The words of a launch, and in which pages they are.
  struct Launch {
    Launch(std::span<const std::uint64_t> given, InOneBlock in_one_block);
    // Whether one of its words may be in a table that begins at `at`.
    bool is_behind(std::uint64_t at) const;

    std::span<const std::uint64_t> words;
    std::uint64_t pages = 0;
    InOneBlock in_one_block;
  };
  // Whether it may use a table of the kernel at this place.
  bool reaches(std::size_t place, const Launch& launch) const;
  // Calls visit(place) for what was handed on within kLaunches before `now`, newest first, until it returns true.
  template <class Visit>
  bool any_recent(std::uint64_t now, Visit visit);

  std::mutex mutex_;
  std::array<Key, kMost> keys_;  // a ring
  std::array<Lists, kMost> lists_;
  std::size_t next_ = 0, count_ = 0;
  std::atomic<bool>& any_;
  std::atomic<std::uint64_t> launch_{1};  // counted while there are any
  std::atomic<std::uint64_t> newest_{0};  // the most recent launch that handed on addresses
};

// The instance of this process.
HandedAddresses& handed_addresses();
// Whether it holds any.
inline bool any_handed_addresses() { return detail::launch_facts.handed_addresses.load(std::memory_order_relaxed); }

}  // namespace tessera::preload
