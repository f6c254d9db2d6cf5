// The record that the layer above attaches to a run, and the part of it that the engine reads: which blocks live.
//
// Thread safety: constant while the run is published; the words are atomics of the owner's.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tessera {

struct RunOwner {
  void* record = nullptr;
  // One for each block it can have, odd while the block lives. Code that makes a block live does so with sequential
  // consistency, and reads the run's `missing` afterwards.
  std::span<const std::atomic<std::uint64_t>> words;
  // For a run that has the same role in every iteration: its successor in that role has the same name, from kGivenNames
  // up (launch_signature.hpp).
  std::optional<std::uint64_t> name{};

  // Blocks that live.
  std::ptrdiff_t living() const {
    return std::ranges::count_if(words, [](const auto& word) { return word.load() & 1; });
  }
  bool has_living() const {
    return std::ranges::any_of(words, [](const auto& word) { return word.load() & 1; });
  }
};

}  // namespace tessera
