#include "residency/eviction/initial_places.hpp"

#include "residency_fixture.hpp"

namespace tessera {
namespace {

using PlacedRun = tessera::Run;  // a test has a member Run() of its own

class PlaceTest : public ::testing::Test {
 protected:
  PlacedRun* written(RunShape shape) {
    PlacedRun* const run = machine_.add(shape);
    EXPECT_OK(machine_.write(run, 1));
    EXPECT_OK(machine_.settle());
    return run;
  }
  static bool has(const Page& page, Locations at) {
    return page.device.has_value() == at.has(Location::kDevice) && page.host.has_value() == at.has(Location::kHost) &&
           page.file.has_value() == at.has(Location::kFile);
  }

  ResidencyMachine machine_{{.device = 32_MiB, .host = 16_MiB, .file = 64_MiB}};
};

TEST_F(PlaceTest, GivesEachPageItsCopies) {
  const std::vector<Locations> places = {Location::kDevice,
                                         Location::kHost,
                                         Location::kFile,
                                         Location::kDevice | Location::kHost,
                                         Location::kDevice | Location::kFile,
                                         Location::kHost | Location::kFile,
                                         Location::kDevice | Location::kHost | Location::kFile};
  PlacedRun* const run = written({0, static_cast<std::uint32_t>(places.size())});
  EXPECT_OK(machine_.residency().place(run, places));
  for (std::size_t i = 0; i < places.size(); ++i) EXPECT_TRUE(has(run->pages[i], places[i])) << "page " << i;
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(machine_.check(run, 1));
}

TEST_F(PlaceTest, APageWithoutAPlaceStaysOnTheDevice) {
  PlacedRun* const run = written({0, 2});
  EXPECT_OK(machine_.residency().place(run, std::vector<Locations>(2)));
  EXPECT_EQ(run->bytes_in(PageState::kResident), 4_MiB);
}

TEST_F(PlaceTest, PagesBeyondTheHostGoWhereThereIsRoom) {
  PlacedRun* const run = written({0, 12});
  EXPECT_OK(machine_.residency().place(run, std::vector<Locations>(12, Location::kHost)));
  const auto [device, peer, host, file] = machine_.residency().figures().whereabouts(*run);
  EXPECT_LE(device, 8_MiB);
  EXPECT_EQ(peer, Bytes());
  EXPECT_GE(host + file, 16_MiB);
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(machine_.check(run, 1));
}

}  // namespace
}  // namespace tessera
