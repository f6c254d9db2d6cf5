// `tessera fuzz --seeds A..B`: fault-injection fuzzing by seed, each seed in its own process.
//
// A failing seed is minimised: operations are left out as long as it still fails. The result is one command line that
// runs only the remaining operations, and their list.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

struct FuzzOptions {
  void add_to(CLI::App& app);

  std::string seeds = "1..100";
  std::uint32_t operations = 150;
  std::string keep;  // "0-4,7", or "" for all
  bool json = false;
};

// The outcome of one seed in its own process.
struct FuzzOutcome {
  bool passed = false;
  std::string failure;  // in words; also for a process that crashed or hung
  std::string json;     // the library's output; "" if the run did not complete
};

// "3..7" or "3". False if the text is neither, or if the range is empty.
bool parse_seeds(const std::string& text, std::uint64_t& first, std::uint64_t& last);

// As the library's `kept`: {0, 1, 2, 5} is "0-2,5".
std::string kept_text(const std::vector<std::uint32_t>& kept);

// A minimal list that still `fails`: leaving out any tried part makes it pass. Calls `fails` at most `tries` times.
// REQUIRES: fails(all).
std::vector<std::uint32_t> minimise(std::vector<std::uint32_t> all, int tries,
                                    const std::function<bool(const std::vector<std::uint32_t>&)>& fails);

// Runs `body` in a child process, which may crash or hang. Returns its text, or the reason why there is none.
FuzzOutcome in_child(const std::function<std::string()>& body, unsigned seconds);

int fuzz_command(const FuzzOptions& options);
