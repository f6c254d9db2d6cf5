// Ours and its reference, measured in turn in one run: the only kind of number we report.
//
// Machines are shared and warm up; two things measured in turn are affected alike. The ratio is therefore the median of
// the per-round ratios: other load that starts in the middle of a run slows both sides of a round, and cancels out.
//
// Thread safety: none; one thread measures.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/units.hpp"

namespace tessera::bench {

struct Comparison {
  std::string name;
  std::string reference_name;
  Bytes bytes;           // moved by one round
  double goal = 0;       // least ratio of speeds, ours / reference; 0 is none
  double ours = 0;       // bytes per second, median
  double reference = 0;  // bytes per second, median
  double ratio = 0;      // of the speeds, median over the rounds
};

// Seconds of each side.
struct Times {
  double ours = 0, reference = 0;

  double ratio() const { return reference / ours; }
};

// If the order of the sides alternates and matters, the ratios of single rounds have two modes. Therefore two
// consecutive rounds, with different orders, form a pair with the geometric means of their times. Returns the pair with
// the median ratio; for an even number of pairs the geometric mean of the middle two. The times and the ratio are of
// the same rounds. REQUIRES: an even, non-zero number of rounds.
Times middle_pair(const std::vector<Times>& rounds);

// Runs both sides `rounds` times in turn, after one round of each that does not count.
Comparison compare(std::string name, Bytes bytes, double goal, int rounds, const std::function<void()>& ours,
                   std::string reference_name, const std::function<void()>& reference);

// The same for functions that measure their round themselves and return its seconds.
Comparison compare_timed(std::string name, Bytes bytes, double goal, int rounds, const std::function<double()>& ours,
                         std::string reference_name, const std::function<double()>& reference);

void print(const std::vector<Comparison>& comparisons);
nlohmann::ordered_json to_json(const std::vector<Comparison>& comparisons);

}  // namespace tessera::bench
