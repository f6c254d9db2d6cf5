// `tessera torture --seeds A..B`: disasters by seed, each in a process of its own.
//
// A seed that fails is made small: operations are left out as long as it still fails. What is printed
// then is one line that plays just the rest, and the list of it.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

struct TortureOptions {
  void add_to(CLI::App& app);

  std::string seeds = "1..100";
  std::uint32_t operations = 150;
  std::string keep;  // "0-4,7", or "" for all
  bool json = false;
};

// What came of one seed in its own process.
struct TortureOutcome {
  bool passed = false;
  std::string failure;  // in words; also of a process that crashed or hung
  std::string json;     // what the library said; "" if it came to no end
};

// "3..7" or "3". False when the text is neither, or ends before it begins.
bool parse_seeds(const std::string& text, std::uint64_t& first, std::uint64_t& last);

// As the library's `kept`: {0, 1, 2, 5} is "0-2,5".
std::string kept_text(const std::vector<std::uint32_t>& kept);

// The smallest list that this finds which still `fails`: no part of it can be left out without that.
// Asks at most `tries` times. REQUIRES: fails(all).
std::vector<std::uint32_t> minimise(std::vector<std::uint32_t> all, int tries,
                                    const std::function<bool(const std::vector<std::uint32_t>&)>& fails);

// Runs `body` in a child process, which may crash or hang: its text, or why there is none.
TortureOutcome in_child(const std::function<std::string()>& body, unsigned seconds);

int torture_command(const TortureOptions& options);
