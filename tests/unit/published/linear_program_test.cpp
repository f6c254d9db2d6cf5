#include "lab/published/linear_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace tessera {
namespace {

TEST(LinearProgram, FindsTheBestCorner) {
  LinearProgram program({-3, -2});  // maximise 3x + 2y
  program.at_most({1, 1}, 4);
  program.at_most({1, 3}, 6);
  program.at_most({1, 0}, 3);
  const auto values = program.solve();
  ASSERT_TRUE(values);
  EXPECT_NEAR((*values)[0], 3, 1e-9);
  EXPECT_NEAR((*values)[1], 1, 1e-9);
}

TEST(LinearProgram, KeepsLowerLimitsAndEquations) {
  LinearProgram program({1, 1, 0});
  program.exactly({1, 2, 1}, 10);
  program.at_least({1, 0, 0}, 2);
  program.at_most({0, 0, 1}, 4);
  const auto values = program.solve();
  ASSERT_TRUE(values);
  EXPECT_NEAR((*values)[0], 2, 1e-9);
  EXPECT_NEAR((*values)[1], 2, 1e-9);
  EXPECT_NEAR((*values)[2], 4, 1e-9);
}

TEST(LinearProgram, ReportsInfeasibleAndUnboundedPrograms) {
  LinearProgram impossible({1});
  impossible.at_most({1}, 1);
  impossible.at_least({1}, 2);
  EXPECT_FALSE(impossible.solve());
  LinearProgram boundless({-1});
  boundless.at_least({1}, 2);
  EXPECT_FALSE(boundless.solve());
}

TEST(LinearProgram, IsNoWorseThanAnyPointOfAGrid) {
  std::mt19937_64 random(7);
  const auto digit = [&random] { return static_cast<double>(random() % 10); };
  for (int round = 0; round < 50; ++round) {
    const std::array cost{digit() - 5, digit() - 5};
    const std::array<std::array<double, 3>, 3> rows{
        {{digit() + 1, digit(), 20}, {digit(), digit() + 1, 20}, {-digit(), -1 - digit(), -1}}};
    LinearProgram program({cost[0], cost[1]});
    for (const auto& row : rows) program.at_most({row[0], row[1]}, row[2]);
    const auto values = program.solve();
    double least = 1e9;
    for (double x = 0; x <= 25; x += 0.125) {
      for (double y = 0; y <= 25; y += 0.125) {
        bool keeps = true;
        for (const auto& row : rows) keeps = keeps && row[0] * x + row[1] * y <= row[2];
        if (keeps) least = std::min(least, cost[0] * x + cost[1] * y);
      }
    }
    if (!values) continue;  // unbounded: the grid is finite, the program is not
    EXPECT_LE(cost[0] * (*values)[0] + cost[1] * (*values)[1], least + 1e-9) << round;
  }
}

// FlexGen's program from its cost model, with the constants published for a T4: seconds, bytes.
struct FlexGen {
  double layers, h1, h2, heads, block, batch;  // block: sequences in total; batch: at a time on the device
  double s = 512, n = 32, gib = 1024.0 * 1024 * 1024;

  enum { kPrefill, kDecode, kWg, kWc, kWn, kCg, kCc, kCn, kHg, kHc, kHn, kUnknowns };
  using Row = std::array<double, kUnknowns>;
  static std::vector<double> list(const Row& row) { return {row.begin(), row.end()}; }

  static Row sum(const Row& a, const Row& b) {
    Row row{};
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = a[i] + b[i];
    return row;
  }
  // A phase takes at least `time` plus `constant`.
  static void takes(LinearProgram& program, std::size_t phase, Row time, double constant) {
    time[phase] -= 1;
    program.at_most(list(time), -constant);
  }

  LinearProgram program() const {
    LinearProgram program([this] {
      std::vector<double> cost(kUnknowns);
      cost[kPrefill] = layers;
      cost[kDecode] = layers * (n - 1);
      return cost;
    }());
    const double wi = 8 * h1 * h1 + 4 * h1 * h2;
    Row whole{};
    whole[kWg] = whole[kWc] = whole[kWn] = 1;
    program.exactly(list(whole), 1);
    whole = {};
    whole[kCg] = whole[kCc] = whole[kCn] = 1;
    program.exactly(list(whole), 1);
    whole = {};
    whole[kHg] = whole[kHc] = 1;
    program.exactly(list(whole), 1);
    whole = {};
    whole[kHn] = 1;
    program.at_most(list(whole), 0);
    add_times(program, wi);
    add_room(program, wi);
    return program;
  }

  void add_times(LinearProgram& program, double wi) const {
    const double in = 12.89 * gib, out_cache = 0.97 * gib, out_hidden = 4.82 * gib, read = 0.473 * gib,
                 write_cache = 0.746 * gib, write_hidden = 2.015 * gib;
    const double hidden = 2 * s * h1 * block, cache = 4 * (s + 1) * h1 * block;
    Row ctog{}, gtoc{}, dtoc{}, ctod{};
    ctog[kWc] = ctog[kWn] = wi / in;
    ctog[kHc] = ctog[kHn] = hidden / in;
    gtoc[kCc] = gtoc[kCn] = cache / out_cache;
    gtoc[kHc] = gtoc[kHn] = hidden / out_hidden;
    dtoc[kWn] = wi / read;
    dtoc[kHn] = hidden / read;
    ctod[kCn] = cache / write_cache;
    ctod[kHn] = hidden / write_hidden;
    takes(program, kPrefill, sum(ctog, dtoc), 0);
    takes(program, kPrefill, sum(gtoc, ctod), 0);
    takes(program, kPrefill, {},
          block * (8 * s * h1 * h1 + 4 * s * h1 * h2) / 21.24e12 + 4 * block * s * s * h1 / 9.97e12);
    const double one = 2 * h1 * block, past = 4 * block * (s + n / 2) * h1;
    Row comp{};
    ctog = gtoc = dtoc = ctod = {};
    ctog[kWc] = ctog[kWn] = wi / in;
    ctog[kHc] = ctog[kHn] = one / in;
    gtoc[kHc] = gtoc[kHn] = one / out_hidden;
    dtoc[kCn] = past / read;
    dtoc[kHn] = one / read;
    dtoc[kWn] = wi / (read * 0.95);
    ctod[kCn] = 4 * block * h1 / write_hidden;
    ctod[kHn] = one / write_hidden;
    const double few = std::max(0.0, std::log2(64 / batch)), narrow = std::max(0.0, std::log2(4096 / h1));
    const double processor = 0.0123e12 * std::max(0.1, 1 + 0.0168 * few * narrow - 0.0328 * few - 0.0621 * narrow);
    comp[kCg] = past / 0.079e12;
    comp[kCc] = comp[kCn] = past / processor;
    takes(program, kDecode, sum(gtoc, ctog), 0);
    takes(program, kDecode, sum(dtoc, ctog), 0);
    takes(program, kDecode, sum(ctod, ctog), 0);
    takes(program, kDecode, sum(comp, ctog), block * (8 * h1 * h1 + 4 * h1 * h2) / 4.3e12);
  }

  void add_room(LinearProgram& program, double wi) const {
    const double device = 15 * gib * 0.8, host = 204 * gib * 0.8, file = 1500 * gib * 0.8;
    const double cache = 4 * (s + n) * h1 * block * layers;
    const double inner = batch * (16 * s * h1 + 2 * s * h1 + 2 * heads * s * s + 2 * s * h2);
    Row row{};
    row[kWg] = wi * layers - 2 * wi;
    row[kHg] = 2 * s * h1 * block - 2 * s * h1 * batch;
    row[kCg] = cache;
    program.at_most(list(row), device - 2 * wi - 2 * s * h1 * batch - inner);
    row[kHg] = 2 * h1 * block - 2 * h1 * batch;
    row[kCg] = cache + 4 * batch * (s + n) * h1 + batch * (4 * h1 + 4 * (s + n) * h1 + 2 * heads * (s + n));
    program.at_most(list(row), device - 2 * wi - 2 * h1 * batch - batch * (14 * h1 + 2 * h2));
    row = {};
    row[kWc] = wi * layers;
    row[kWg] = -wi;
    row[kHc] = 2 * s * h1 * block;
    row[kHg] = -2 * s * h1 * batch;
    row[kCc] = 4 * s * h1 * block * layers;
    program.at_most(list(row), host - wi - 2 * s * h1 * batch);
    row = {};
    row[kWc] = wi * layers;
    row[kWn] = wi;
    row[kHc] = 2 * h1 * block;
    row[kHn] = 4 * h1 * batch;
    row[kCc] = cache;
    row[kCn] = 8 * (s + n) * h1 * batch;
    program.at_most(list(row), host - 2 * heads * (s + n) * batch - 2 * h1 * batch);
    row = {};
    row[kWn] = wi * layers;
    row[kHn] = 2 * s * h1 * block;
    row[kCn] = cache;
    program.at_most(list(row), file);
  }
};

// Expected: the authors' experimental/cost_model.py with its own solver (CBC), same sizes and constants.
TEST(LinearProgram, SolvesFlexGensProgramWithItsPublishedConstants) {
  const FlexGen opt30{.layers = 48, .h1 = 7168, .h2 = 28672, .heads = 56, .block = 144, .batch = 48};
  auto values = opt30.program().solve();
  ASSERT_TRUE(values);
  EXPECT_NEAR((*values)[FlexGen::kPrefill] * 48 + (*values)[FlexGen::kDecode] * 48 * 31, 662.75045, 1e-3);
  EXPECT_NEAR((*values)[FlexGen::kWg], 0.071872227, 1e-6);
  EXPECT_NEAR((*values)[FlexGen::kCc], 1, 1e-6);
  EXPECT_NEAR((*values)[FlexGen::kHc], 1, 1e-6);

  const FlexGen opt175{.layers = 96, .h1 = 12288, .h2 = 49152, .heads = 96, .block = 64, .batch = 16};
  values = opt175.program().solve();
  ASSERT_TRUE(values);
  EXPECT_NEAR((*values)[FlexGen::kPrefill] * 96 + (*values)[FlexGen::kDecode] * 96 * 31, 22285.95, 0.05);
  EXPECT_NEAR((*values)[FlexGen::kWc], 0.49333013, 1e-6);
  EXPECT_NEAR((*values)[FlexGen::kCn], 1, 1e-6);

  const FlexGen too_large{.layers = 96, .h1 = 12288, .h2 = 49152, .heads = 96, .block = 256, .batch = 32};
  EXPECT_FALSE(too_large.program().solve());
}

// The cube in which the simplex method visits all corners.
// Source: Klee and Minty, "How good is the simplex algorithm?", 1972.
LinearProgram squeezed_cube(std::size_t dimensions) {
  std::vector<double> cost(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) cost[i] = -std::pow(2, static_cast<double>(dimensions - 1 - i));
  LinearProgram program(cost);
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::vector<double> row(dimensions);
    for (std::size_t j = 0; j < i; ++j) row[j] = std::pow(2, static_cast<double>(i - j + 1));
    row[i] = 1;
    program.at_most(row, std::pow(5, static_cast<double>(i + 1)));
  }
  return program;
}

TEST(LinearProgram, StopsAtTheIterationLimit) {
  const auto values = squeezed_cube(6).solve();
  ASSERT_TRUE(values);
  EXPECT_NEAR((*values)[5], std::pow(5, 6), 1e-6);
  EXPECT_FALSE(squeezed_cube(24).solve()) << "which takes several times kMostPivots";
}

}  // namespace
}  // namespace tessera
