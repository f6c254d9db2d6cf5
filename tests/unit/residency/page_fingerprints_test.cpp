#include "residency/pages/page_fingerprints.hpp"

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

TEST_F(PageMovesTest, EqualBytesHaveEqualFingerprints) {
  auto run = resident_run({0, 3});
  fill(*run, 7);
  *reinterpret_cast<unsigned char*>(run->page_address(2).value()) = 8;
  const auto all = pages(*run);
  for (const PageRef& page : all) page->fingerprint.wanted = true;
  moves().fingerprints.queue(all);
  wait_for_device();
  const auto first = moves().fingerprints.read(all[0]), second = moves().fingerprints.read(all[1]);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first, second);
  EXPECT_NE(first, moves().fingerprints.read(all[2]));
  EXPECT_EQ(moves().fingerprints.read(all[0]), std::nullopt) << "it was read";
  take_all(*run);
}

TEST_F(PageMovesTest, OnlyPagesThatWantAFingerprintGetOne) {
  auto run = resident_run({0, 2});
  const auto all = pages(*run);
  moves().fingerprints.queue(all);
  EXPECT_EQ(fault().calls(DriverCall::kFingerprint), 0U);
  all[1]->fingerprint.wanted = true;
  moves().fingerprints.queue(all);
  wait_for_device();
  EXPECT_EQ(moves().fingerprints.read(all[0]), std::nullopt);
  EXPECT_TRUE(all[1]->fingerprint.is_pending());
  moves().fingerprints.drop(all[1]);
  EXPECT_EQ(moves().fingerprints.read(all[1]), std::nullopt) << "it was dropped";
  take_all(*run);
}

}  // namespace
}  // namespace tessera
