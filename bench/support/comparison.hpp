// Ours beside its reference, measured in turn in one run: the only kind of number we report.
//
// Machines are shared and warm up; two things that take turns see the same weather. The ratio is
// therefore the median of the rounds' own ratios: a neighbour who comes half way through a run
// slows both sides of a round, and drops out.
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
  Bytes bytes;                // moved by one round
  double goal = 0;            // least ratio of speeds, ours / reference; 0 is none
  double ours = 0;            // bytes per second, median
  double reference = 0;       // bytes per second, median
  double ratio = 0;           // of the speeds, median over the rounds
};

// Seconds of one side and of the other.
struct Times {
  double ours = 0, reference = 0;

  double ratio() const { return reference / ours; }
};

// Where who begins changes from round to round, and matters, single rounds have two middles. So two rounds, each of
// which somebody else begins, are a pair with the geometric means of its times; this is the pair whose ratio is the
// median, of an even number the geometric mean of the middle two. The times and the ratio are of the same rounds.
// REQUIRES: an even number of rounds, not none.
Times middle_pair(const std::vector<Times>& rounds);

// Runs both `rounds` times in turn, after one round of each that does not count.
Comparison compare(std::string name, Bytes bytes, double goal, int rounds,
                   const std::function<void()>& ours, std::string reference_name,
                   const std::function<void()>& reference);

// The same, where each tells by itself how many seconds a round took.
Comparison compare_timed(std::string name, Bytes bytes, double goal, int rounds,
                         const std::function<double()>& ours, std::string reference_name,
                         const std::function<double()>& reference);

void print(const std::vector<Comparison>& comparisons);
nlohmann::ordered_json to_json(const std::vector<Comparison>& comparisons);

}  // namespace tessera::bench
