#include "residency/pages/page_mappings.hpp"

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

TEST_F(PageMovesTest, RetriesAccessThatIsNotReady) {
  auto run = make_run({0, 1});
  fault().fail({DriverCall::kSetAccess, 1, Status(Code::kNotReady, "not now", 600)});
  EXPECT_OK(moves().mover.mount(pages(*run)));
  fault().clear();
  take_all(*run);
}

TEST_F(PageMovesTest, AccessThatIsNeverReadyIsAnErrorInTheEnd) {
  auto run = make_run({0, 1});
  fault().fail({DriverCall::kSetAccess, 1, Status(Code::kNotReady, "not now", 600), true});
  EXPECT_EQ(moves().mover.mount(pages(*run)).code(), Code::kNotReady);
  fault().clear();
  EXPECT_EQ(device().usage().used, Bytes());
}

// ---- large pages --------------------------------------------------------------------------------

// The device has room for two large pages, or thirty-two base pages.
class PageMappingsLargePages : public PageMovesTest {
 protected:
  PageMappingsLargePages() : PageMovesTest({.device = 64_MiB, .host = 96_MiB, .sim = {.memory = 64_MiB}}) {}

  std::unique_ptr<tessera::Run> filled(RunShape shape, std::uint8_t value) {
    auto run = resident_run(shape);
    fill(*run, value);
    return run;
  }
  static int last_byte(const tessera::Run& run) {
    return *reinterpret_cast<const unsigned char*>((run.address + (run.shape.bytes() - 1_B)).value());
  }
};

TEST_F(PageMappingsLargePages, ALargePageGetsAWholeFrameForSixteenSpareOnes) {
  auto other = resident_run({1, 0});
  auto base = resident_run({0, 16});
  take_all(*base);
  const std::uint64_t created = fault().calls(DriverCall::kCreateFrame);
  const std::uint64_t mapped = fault().calls(DriverCall::kMap);
  auto run = filled({1, 0}, 7);
  EXPECT_EQ(fault().calls(DriverCall::kDestroyFrame), 16U);
  EXPECT_EQ(fault().calls(DriverCall::kCreateFrame), created + 1);
  EXPECT_EQ(fault().calls(DriverCall::kMap), mapped + 1);
  EXPECT_EQ(validate_run(*run).to_string(), "ok");
  start_eviction(*run);
  take_all(*other);
  ASSERT_OK(moves().mover.mount(pages(*run)));
  EXPECT_EQ(fault().calls(DriverCall::kMap), mapped + 2);
  ASSERT_TRUE(moves().mover.finish_fetch({run.get(), 0}, true).take());
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_EQ(last_byte(*run), 7);
  EXPECT_EQ(stats().bytes_out, kLargePage);
  EXPECT_EQ(stats().bytes_in, kLargePage);
  EXPECT_EQ(fault().calls(DriverCall::kDestroyFrame), 16U) << "a large frame is spare by now";
  EXPECT_EQ(fault().calls(DriverCall::kCreateFrame), created + 1);
  take_all(*run);
}

TEST_F(PageMappingsLargePages, UnmapsPagesAndGrantsAccessInOneCall) {
  take_all(*resident_run({0, 32}));
  auto run = filled({2, 0}, 3);
  const std::uint64_t access = fault().calls(DriverCall::kSetAccess);
  start_eviction(*run);
  EXPECT_EQ(fault().calls(DriverCall::kUnmap), 2U) << "one of the base pages, one of these";
  ASSERT_OK(moves().mover.mount(pages(*run)));
  EXPECT_EQ(fault().calls(DriverCall::kSetAccess), access + 1);
  for (const PageRef& page : pages(*run)) ASSERT_TRUE(moves().mover.finish_fetch(page, true).take());
  EXPECT_EQ(first_byte(*run), 3);
  EXPECT_EQ(last_byte(*run), 3);
  take_all(*run);
}

TEST_F(PageMappingsLargePages, AFailedMapReturnsTheFrame) {
  auto run = make_run({1, 0});
  for (int round = 0; round < 2; ++round) {
    fail(DriverCall::kMap, 1);
    EXPECT_EQ(moves().mover.mount(pages(*run)).code(), Code::kDriver);
    EXPECT_EQ(run->missing.load(), 1U);
    EXPECT_EQ(device().usage().used, Bytes());
    EXPECT_EQ(device().usage().spare, kLargePage);
    EXPECT_EQ(validate_run(*run).to_string(), "ok");
  }
  ASSERT_OK(moves().mover.mount(pages(*run)));
  EXPECT_EQ(fault().calls(DriverCall::kCreateFrame), 1U);
  take_all(*run);
}

}  // namespace
}  // namespace tessera
