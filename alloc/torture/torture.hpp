// Runs one torture program, whole or in part, and says what came of it.
//
// What may happen after a disaster: a call returns an error. What may not: wrong data, books that do
// not add up, an illegal call of the driver, an error that nothing explains, something left behind at
// the end, a hang or a crash (which the caller sees).
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

struct TortureResult {
  std::optional<std::string> failure;
  std::uint32_t played = 0;  // operations carried out, or up to the failure
  std::uint64_t disasters = 0;
  std::uint64_t errors = 0;
  std::uint64_t evictions = 0, fetches = 0, sinks = 0, remakes = 0, unchanged = 0, policies = 0;
  std::uint64_t peer_pages = 0;  // that came from who lends
  std::uint64_t digest = 0;  // the same for every run of the same program
};

// "0-4,7" as numbers in ascending order; empty text is all below `count`.
// Errors: kInvalidArgument for anything else, and for numbers that are not below `count`.
Result<std::vector<std::uint32_t>> parse_kept(std::string_view text, std::uint32_t count);

// Carries out the operations `kept` of the program that `seed` makes. Errors: the allocator could not
// be built.
Result<TortureResult> torture(std::uint64_t seed, std::uint32_t operations,
                              const std::vector<std::uint32_t>& kept);

// One JSON object; with the machine and the list of operations if it failed.
std::string torture_json(std::uint64_t seed, std::uint32_t operations,
                         const std::vector<std::uint32_t>& kept, const TortureResult& result);

}  // namespace tessera
