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

// ---- large pages on whole frames and on joined ones --------------------------------------------

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

TEST_F(PageMappingsLargePages, FetchesALargePageIntoSpareFrames) {
  auto other = resident_run({1, 0});
  auto base = resident_run({0, 16});
  take_all(*base);
  const std::uint64_t created = fault().calls(DriverCall::kCreateFrame);
  auto run = filled({1, 0}, 7);
  EXPECT_TRUE(run->pages[0].device->joined) << "sixteen base frames are spare, no large one is";
  EXPECT_EQ(validate_run(*run).to_string(), "ok");
  start_eviction(*run);
  take_all(*other);
  const std::uint64_t mapped = fault().calls(DriverCall::kMap);
  ASSERT_OK(moves().mover.mount(pages(*run)));
  EXPECT_FALSE(run->pages[0].device->joined) << "a large one is spare by now";
  EXPECT_EQ(fault().calls(DriverCall::kMap), mapped + 1);
  ASSERT_TRUE(moves().mover.finish_fetch({run.get(), 0}, true).take());
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_EQ(last_byte(*run), 7);
  EXPECT_EQ(stats().bytes_out, kLargePage);
  EXPECT_EQ(stats().bytes_in, kLargePage);
  EXPECT_EQ(fault().calls(DriverCall::kCreateFrame), created);
  EXPECT_EQ(fault().calls(DriverCall::kDestroyFrame), 0U);
  take_all(*run);
}

TEST_F(PageMappingsLargePages, MapsAndUnmapsJoinedFramesInOneCall) {
  take_all(*resident_run({0, 32}));
  auto run = filled({2, 0}, 3);
  const std::uint64_t access = fault().calls(DriverCall::kSetAccess);
  EXPECT_TRUE(run->pages[0].device->joined);
  EXPECT_TRUE(run->pages[1].device->joined);
  start_eviction(*run);
  EXPECT_EQ(fault().calls(DriverCall::kUnmap), 2U) << "one of the base pages, one of these";
  ASSERT_OK(moves().mover.mount(pages(*run)));
  EXPECT_EQ(fault().calls(DriverCall::kSetAccess), access + 1);
  for (const PageRef& page : pages(*run)) ASSERT_TRUE(moves().mover.finish_fetch(page, true).take());
  EXPECT_EQ(first_byte(*run), 3);
  EXPECT_EQ(last_byte(*run), 3);
  take_all(*run);
}

TEST_F(PageMappingsLargePages, APartlyFailedMapIsUndone) {
  auto other = resident_run({1, 0});
  take_all(*resident_run({0, 16}));
  auto run = make_run({1, 0});
  for (const std::uint64_t nth : {1U, 9U, 16U}) {
    fail(DriverCall::kMap, nth);
    EXPECT_EQ(moves().mover.mount(pages(*run)).code(), Code::kDriver);
    EXPECT_EQ(run->missing.load(), 1U);
    EXPECT_EQ(device().usage().used, kLargePage) << "the other run's";
    EXPECT_EQ(device().usage().spare, kLargePage);
    EXPECT_EQ(validate_run(*run).to_string(), "ok");
  }
  ASSERT_OK(moves().mover.mount(pages(*run)));
  take_all(*run);
  take_all(*other);
}

}  // namespace
}  // namespace tessera
