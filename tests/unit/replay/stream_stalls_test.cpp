#include "lab/replay/stream_stalls.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

constexpr Nanoseconds moment(std::uint64_t time) { return Nanoseconds(time); }

StreamWork ran(std::uint64_t queued, std::uint64_t begin, std::uint64_t end, bool recomputes = false) {
  return {moment(queued), moment(begin), moment(end), recomputes};
}
HostWait waited(StallCause cause, std::uint64_t begin, std::uint64_t end) {
  return {cause, moment(begin), moment(end)};
}

StreamStalls stalls_of(std::uint64_t begin, std::uint64_t end, const std::vector<StreamWork>& works,
                       const std::vector<HostWait>& waits) {
  return stalls_between(moment(begin), moment(end), works, waits);
}
std::uint64_t caused(const StreamStalls& stalls, StallCause cause) {
  return stalls.by_cause[static_cast<std::size_t>(cause)].value();
}

TEST(StreamStalls, AGapIsTheProgramsUntilTheSubmissionThenTheCopys) {
  const StreamStalls made = stalls_of(0, 100, {ran(0, 0, 20), ran(60, 90, 100)},
                                      {waited(StallCause::kWork, 10, 30), waited(StallCause::kCopyOut, 30, 60)});
  EXPECT_EQ(caused(made, StallCause::kWork), 10U) << "from 20 on nothing runs";
  EXPECT_EQ(caused(made, StallCause::kCopyOut), 30U);
  EXPECT_EQ(caused(made, StallCause::kCopyIn), 30U);
  EXPECT_EQ(made.other, moment(0));
  EXPECT_EQ(made.total(), moment(70));
}

TEST(StreamStalls, AWaitBehindRunningWorkCostsNothing) {
  const StreamStalls made = stalls_of(0, 50, {ran(0, 0, 30), ran(25, 30, 50)}, {waited(StallCause::kCopyOut, 5, 25)});
  EXPECT_EQ(made.total(), moment(0));
}

TEST(StreamStalls, UnexplainedGapsAreOther) {
  const StreamStalls made = stalls_of(0, 100, {ran(40, 40, 60)},
                                      {waited(StallCause::kFileRead, 5, 10), waited(StallCause::kFileWrite, 20, 80)});
  EXPECT_EQ(caused(made, StallCause::kFileRead), 5U);
  EXPECT_EQ(caused(made, StallCause::kFileWrite), 20U + 20U);
  EXPECT_EQ(made.other, moment(5 + 10 + 20));
  EXPECT_EQ(made.total(), moment(80));
}

TEST(StreamStalls, RecomputingIsNoOperation) {
  const StreamStalls made = stalls_of(0, 60, {ran(0, 0, 10), ran(0, 15, 40, true), ran(0, 40, 60)}, {});
  EXPECT_EQ(caused(made, StallCause::kCopyIn), 5U);
  EXPECT_EQ(made.recompute, moment(25));
  EXPECT_EQ(made.total(), moment(30));
}

TEST(StreamStalls, CountsOnlyTimeInsideTheInterval) {
  const std::vector<StreamWork> works{ran(0, 0, 5), ran(7, 20, 40), ran(70, 90, 120), ran(110, 130, 140)};
  const std::vector<HostWait> waits{waited(StallCause::kCopyOut, 0, 7), waited(StallCause::kFileRead, 50, 70)};
  const StreamStalls made = stalls_of(10, 80, works, waits);
  EXPECT_EQ(caused(made, StallCause::kCopyOut), 0U);
  EXPECT_EQ(caused(made, StallCause::kFileRead), 20U);
  EXPECT_EQ(caused(made, StallCause::kCopyIn), 10U + 10U);
  EXPECT_EQ(made.other, moment(10));
  EXPECT_EQ(made.total(), moment(80 - 10 - 20));
  EXPECT_EQ(stalls_of(10, 80, {}, {}).total(), moment(70));
}

}  // namespace
}  // namespace tessera
