#include "api/named_runs.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using DeviceRun = Run;  // gtest has a member of that name

const Address kAt{std::uint64_t{1} << 32};

template <class Named>
std::vector<Run*> named_by(Run& run, const Named& named) {
  std::vector<Run*> runs;
  for_each_named(&run, named, [&runs](Run* each) { runs.push_back(each); });
  return runs;
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
