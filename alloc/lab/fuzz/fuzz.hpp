// Runs one fuzz program, whole or in part, and reports the result.
//
// After an injected fault a call may return an error. Not allowed are wrong data, statistics that do not add up, an
// illegal driver call, an error without a cause, a leak at the end, and a hang or a crash (which the caller detects).
//
// Thread safety: one thread; runs share nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace tessera {

struct FuzzResult {
  std::optional<std::string> failure;
  std::uint32_t played = 0;  // operations carried out, or up to the failure
  std::uint64_t faults = 0;
  std::uint64_t errors = 0;
  std::uint64_t evictions = 0, fetches = 0, sinks = 0, recomputes = 0, unchanged = 0, policies = 0;
  std::uint64_t peer_pages = 0;  // fetched from a lender
  std::uint64_t exchanges = 0;   // pages of partial blocks that came to the device in place of others
  std::uint64_t alone = 0;       // kernels that used a block unseen and alone
  std::uint64_t faulted = 0;     // of those
  std::uint64_t digest = 0;      // the same for every run of the same program
};

// "0-4,7" as numbers in ascending order; empty text means all below `count`. Errors: kInvalidArgument for anything
// else, and for numbers that are not below `count`.
Result<std::vector<std::uint32_t>> parse_kept(std::string_view text, std::uint32_t count);

// Carries out the operations `kept` of the program generated from `seed`. Errors: the allocator could not be built.
Result<FuzzResult> fuzz(std::uint64_t seed, std::uint32_t operations, const std::vector<std::uint32_t>& kept);

// One JSON object; with the machine and the list of operations if it failed.
std::string fuzz_json(std::uint64_t seed, std::uint32_t operations, const std::vector<std::uint32_t>& kept,
                      const FuzzResult& result);

}  // namespace tessera
