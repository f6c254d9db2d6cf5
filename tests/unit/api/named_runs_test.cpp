#include "api/named_runs.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using DeviceRun = Run;  // gtest has a member of that name

const Address kAt{std::uint64_t{1} << 32};

template <class Named>
std::vector<Run*> named_by(const PageMap& map, Run& run, const Named& named) {
  std::vector<Run*> runs;
  for_each_named(map, &run, named, [&runs](Run* each) { runs.push_back(each); });
  return runs;
}
template <class Named>
std::vector<Run*> named_by(Run& run, const Named& named) {
  return named_by(*PageMap::create(kAt, 256_MiB).take(), run, named);
}

TEST(NamedRuns, InAWholeRunEverythingMeansTheRun) {
  DeviceRun run(kAt, {8, 0}, TagId());
  EXPECT_EQ(named_by(run, kAt + 5_MiB), std::vector{&run});
  EXPECT_EQ(named_by(run, AddressRange{kAt + 5_MiB, 1_MiB}), std::vector{&run});
}

TEST(NamedRuns, InARowARangeMeansPartsAndAnAddressTheRow) {
  DeviceRun run(kAt, {8, 0}, TagId());
  const auto parts = make_row(run);
  EXPECT_EQ(named_by(run, kAt + 70_MiB), std::vector{&run});
  EXPECT_EQ(named_by(run, AddressRange{kAt + 70_MiB, 1_MiB}), std::vector{run.parts[1]});
  EXPECT_EQ(named_by(run, AddressRange{kAt + 70_MiB, 0_B}), std::vector{&run});
  EXPECT_EQ(named_by(run, AddressRange{kAt, 256_MiB}), std::vector{&run}) << "all of it";
}

TEST(NamedRuns, WithExtentsAnAddressMeansItsExtent) {
  DeviceRun run(kAt, {8, 0}, TagId());
  const auto parts = make_row(run);
  run.extents.store(new Extents(Extents::of({{0_B, 1_MiB}, {60_MiB, 10_MiB}}, 256_MiB).take()));
  run.is_cut.store(true);
  EXPECT_EQ(named_by(run, kAt), std::vector{run.parts[0]});
  EXPECT_EQ(named_by(run, kAt + 69_MiB), (std::vector{run.parts[0], run.parts[1]}));
  EXPECT_EQ(named_by(run, kAt + 200_MiB), std::vector{run.parts[3]}) << "in no extent: only its part";
  EXPECT_EQ(named_by(run, AddressRange{kAt + 69_MiB, 1_B}), std::vector{run.parts[1]}) << "a length says more";
  EXPECT_EQ(named_by(run, AddressRange{kAt + 69_MiB, 0_B}), (std::vector{run.parts[0], run.parts[1]}));
}

TEST(NamedRuns, WhatIsNotedOfAnAddressBeginsThere) {
  DeviceRun run(kAt, {8, 0}, TagId());
  EXPECT_EQ(noted_bytes(run, kAt + 5_MiB), (Extent{5_MiB, 0_B})) << "it may end anywhere";
  EXPECT_EQ(noted_bytes(run, AddressRange{kAt + 5_MiB, 1_MiB}), (Extent{5_MiB, 1_MiB}));
  EXPECT_EQ(noted_bytes(run, AddressRange{kAt + 5_MiB, 0_B}), (Extent{5_MiB, 0_B}));
  const auto parts = make_row(run);
  run.extents.store(new Extents(Extents::of({{60_MiB, 10_MiB}}, 256_MiB).take()));
  run.is_cut.store(true);
  EXPECT_EQ(noted_bytes(run, kAt + 69_MiB), (Extent{60_MiB, 10_MiB})) << "all of its extent";
  EXPECT_EQ(noted_bytes(run, kAt + 200_MiB), (Extent{200_MiB, 0_B})) << "in no extent";
  EXPECT_EQ(noted_bytes(run, AddressRange{kAt + 69_MiB, 1_B}), (Extent{69_MiB, 1_B}));
}

// A range of 64 MiB with runs of 4 MiB at 0, 4 and 12 MiB.
class NamedRange : public ::testing::Test {
 protected:
  NamedRange() : map_(PageMap::create(kAt, 256_MiB).take()), range_(make_range(kAt, TagId())) {
    for (const Bytes offset : {0_B, 4_MiB, 12_MiB}) {
      runs_.push_back(std::make_unique<DeviceRun>(kAt + offset, RunShape{0, 2}, TagId()));
      join_range(*range_, *runs_.back());
      map_->set(kAt + offset, 2, runs_.back().get());
    }
  }
  ~NamedRange() override {
    for (const auto& run : runs_) leave_range(*run);
  }
  template <class Named>
  std::vector<DeviceRun*> by(std::size_t run, const Named& named) {
    return named_by(*map_, *runs_[run], named);
  }

  std::unique_ptr<PageMap> map_;
  std::unique_ptr<DeviceRun> range_;
  std::vector<std::unique_ptr<DeviceRun>> runs_;
};

TEST_F(NamedRange, AnAddressMeansAllOfIt) {
  EXPECT_EQ(by(1, kAt + 5_MiB), std::vector{range_.get()});
  EXPECT_EQ(by(1, AddressRange{kAt + 5_MiB, 0_B}), std::vector{range_.get()});
}

TEST_F(NamedRange, ALengthMeansTheRunsThatItTouches) {
  EXPECT_EQ(by(0, AddressRange{kAt + 1_MiB, 1_MiB}), std::vector{runs_[0].get()});
  EXPECT_EQ(by(0, AddressRange{kAt + 3_MiB, 2_MiB}), (std::vector{runs_[0].get(), runs_[1].get()}));
  EXPECT_EQ(by(1, AddressRange{kAt + 7_MiB, 6_MiB}), (std::vector{runs_[1].get(), runs_[2].get()})) << "over a gap";
  EXPECT_EQ(by(2, AddressRange{kAt + 13_MiB, Bytes(~std::uint64_t{0} / 2)}), std::vector{runs_[2].get()});
}

TEST_F(NamedRange, WithExtentsAnAddressMeansItsExtent) {
  range_->extents.store(new Extents(Extents::of({{2_MiB, 4_MiB}, {11_MiB, 3_MiB}}, 64_MiB).take()));
  range_->is_cut.store(true);
  EXPECT_EQ(by(1, kAt + 5_MiB), (std::vector{runs_[0].get(), runs_[1].get()}));
  EXPECT_EQ(by(2, kAt + 13_MiB), std::vector{runs_[2].get()});
  EXPECT_EQ(by(0, kAt), std::vector{runs_[0].get()}) << "in no extent: only the run";
}

TEST_F(NamedRange, WhatIsNotedCountsFromItsStart) {
  DeviceRun& run = *runs_[1];
  EXPECT_EQ(noted_bytes(run, kAt + 5_MiB), (Extent{5_MiB, 0_B}));
  EXPECT_EQ(noted_bytes(run, AddressRange{kAt + 5_MiB, 1_MiB}), (Extent{5_MiB, 1_MiB}));
  range_->extents.store(new Extents(Extents::of({{2_MiB, 4_MiB}}, 64_MiB).take()));
  range_->is_cut.store(true);
  EXPECT_EQ(noted_bytes(run, kAt + 5_MiB), (Extent{2_MiB, 4_MiB})) << "all of its extent";
  EXPECT_EQ(noted_bytes(run, kAt + 7_MiB), (Extent{7_MiB, 0_B})) << "in no extent";
}

TEST(NamedRuns, TheRunsOfAUseAreKeptInOrder) {
  std::vector<std::unique_ptr<DeviceRun>> runs;
  FoundRuns found;
  for (std::uint64_t i = 0; i < 100; ++i) {
    runs.push_back(std::make_unique<DeviceRun>(kAt + kBasePage * i, RunShape{0, 1}, TagId()));
    found.add(runs.back().get());
    found.add(runs.back().get());
  }
  ASSERT_EQ(found.all().size(), 100U);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(found.all()[i], runs[i].get());
}

}  // namespace
}  // namespace tessera
