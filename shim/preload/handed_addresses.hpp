// Addresses that a small kernel was given, and may have written into memory for the kernels behind it.
//
// Grouped matrix products and batched linear algebra launch a kernel of one block that writes a table of addresses,
// then kernels that are given the table alone (pytorch#150421, pytorch#100997, TransformerEngine#2502). Nothing shows
// what it wrote. But what it was given is seen: each of its addresses may lie behind each of the others. So a launch
// that is given one of them soon after gets the others as words that may be needed: they come as far as they fit.
//
// Only kernels of one block count. Kernels with more of them compute on the blocks that they are given.
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

namespace tessera::preload {

class HandedAddresses {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostWords = 256;
  static constexpr std::uint64_t kLaunches = 32;
  // A table may begin so far behind the address that the kernel was given.
  static constexpr CUdeviceptr kReach = 16 << 10;

  bool any() const { return any_.load(std::memory_order_relaxed); }

  // A kernel of one block is launched with the certain words `given`; `named` is what tables name for it. A kernel that
  // is launched again with an address replaces what it handed on there before. What was handed on to the kernel itself
  // is not among `named`: each kernel of a row would hand on what all kernels before were given.
  void note(const char* kernel, std::span<const std::uint64_t> given, std::span<const std::uint64_t> named);
  // To be asked once for each launch while there are any: whether kernels before may have handed on anything to it.
  bool may_add(std::span<const std::uint64_t> given);
  // Adds what they may have handed on, ahead of what else may be needed.
  void add_handed(Words& words);
  void forget_all();

 private:
  struct Handed {
    const char* kernel = nullptr;  // by name
    std::uint64_t launch = 0;      // 0: none
    std::uint64_t turn = 0;        // grows with each
    std::vector<std::uint64_t> given, named;
  };
  static constexpr std::size_t kPages = 4096;

  std::atomic<std::uint32_t>& page_of(CUdeviceptr address) { return pages_[address / kReach % kPages]; }
  template <class Change>
  void for_each_page(std::span<const std::uint64_t> given, Change change);
  Handed& place_for(const char* kernel, std::uint64_t first);

  std::mutex mutex_;
  std::array<Handed, kMost> handed_;
  std::size_t next_ = 0;  // of them, to be overwritten
  std::uint64_t turns_ = 0;
  std::atomic<bool> any_{false};
  std::atomic<std::uint64_t> launch_{1};                    // counted while there are any
  std::atomic<std::uint64_t> newest_{0};                    // the launch that handed on last
  std::array<std::atomic<std::uint32_t>, kPages> pages_{};  // how many addresses with others may lie there
};

// The process's one.
HandedAddresses& handed_addresses();

}  // namespace tessera::preload
