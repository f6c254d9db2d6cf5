// Pages that are used in host memory, step by step.
#include "residency/pages/page_zero_copy.hpp"

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

class PageZeroCopyTest : public PageMovesTest {
 protected:
  PageZeroCopyTest() : PageMovesTest({.device = 8_MiB, .host = 32_MiB, .zero_copy = true}) {}
  Status begin(tessera::Run& run) { return moves().zero_copy.begin(pages(run)).status(); }
};

TEST_F(PageZeroCopyTest, BytesOfAResidentPageAreFoundAtTheSameAddress) {
  const auto run = resident_run({0, 2});
  fill(*run, 7);
  EXPECT_EQ(moves().zero_copy.begin(pages(*run)).take(), 4_MiB);
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(device().usage().used, 0_B);
  fill(*run, 8);
  EXPECT_OK(moves().zero_copy.end(pages(*run)));
  EXPECT_EQ(first_byte(*run), 8);
  EXPECT_EQ(host().usage_with_staging().used, 0_B);
  EXPECT_OK(validate_run(*run));
  take_all(*run);
}

TEST_F(PageZeroCopyTest, APageInHostMemoryAloneIsMappedWithItsBytes) {
  const auto run = resident_run({0, 1});
  fill(*run, 7);
  start_eviction(*run);
  ASSERT_EQ(run->missing.load(), 1U);
  EXPECT_OK(begin(*run));
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(host().usage().used, 0_B) << "the copy is not kept beside it";
  EXPECT_OK(validate_run(*run));
  take_all(*run);
}

TEST_F(PageZeroCopyTest, AFreshPageNeedsNoDeviceMemory) {
  const auto run = make_run({0, 3});
  EXPECT_OK(begin(*run));
  fill(*run, 5);
  EXPECT_EQ(first_byte(*run), 5);
  EXPECT_EQ(device().usage().peak_used, 0_B);
  take_all(*run);
  EXPECT_EQ(host().usage_with_staging().used, 0_B);
}

TEST_F(PageZeroCopyTest, OnlyPagesOfDeadRunsAreDiscarded) {
  const auto run = make_run({0, 2});
  EXPECT_OK(begin(*run));
  EXPECT_EQ(moves().zero_copy.discard_dead(*run).take(), 0_B);
  EXPECT_EQ(run->missing.load(), 0U);
  run->live.store(0);
  EXPECT_EQ(moves().zero_copy.discard_dead(*run).take(), 4_MiB);
  EXPECT_EQ(run->missing.load(), 2U);
  EXPECT_OK(validate_run(*run));
  take_all(*run);
}

TEST_F(PageZeroCopyTest, PagesAfterTheFirstWithoutAFrameStayAsTheyWere) {
  const auto run = make_run({0, 17});
  EXPECT_EQ(moves().zero_copy.begin(pages(*run)).take(), 32_MiB) << "all of the host budget";
  EXPECT_EQ(run->bytes_in(PageState::kEmpty), 2_MiB);
  EXPECT_OK(validate_run(*run));
  take_all(*run);
}

TEST_F(PageZeroCopyTest, APageThatCannotBeMappedInHostMemoryStaysOnTheDevice) {
  for (const DriverCall call : {DriverCall::kCopy, DriverCall::kUnmap, DriverCall::kMap, DriverCall::kSetAccess}) {
    const auto run = resident_run({0, 1});
    fill(*run, 7);
    fail(call, call == DriverCall::kMap || call == DriverCall::kSetAccess ? 2 : 1);  // the first makes the alias
    EXPECT_EQ(begin(*run).code(), Code::kDriver) << static_cast<int>(call);
    fault().clear();
    EXPECT_EQ(run->pages[0].state, PageState::kResident);
    EXPECT_EQ(first_byte(*run), 7);
    EXPECT_OK(validate_run(*run));
    take_all(*run);
  }
}

TEST_F(PageZeroCopyTest, APageThatCannotBeMappedAnywhereIsApartWithItsBytes) {
  const auto run = resident_run({0, 1});
  fill(*run, 7);
  wait_for_device();
  const std::uint64_t before = fault().calls(DriverCall::kUnmap);
  fault().fail({DriverCall::kMap, 2, Status(Code::kDriver, "injected", 999), true});  // the first makes the alias
  EXPECT_EQ(begin(*run).code(), Code::kDriver);
  fault().clear();
  EXPECT_EQ(fault().calls(DriverCall::kUnmap), before + 2) << "the page, and the alias: nothing that is not mapped";
  EXPECT_EQ(run->pages[0].state, PageState::kApart);
  EXPECT_OK(moves().partings.bring_back(pages(*run)));
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_OK(validate_run(*run));
  take_all(*run);
}

TEST_F(PageZeroCopyTest, APageThatCannotBeFilledOnTheDeviceStaysInHostMemory) {
  for (const DriverCall call : {DriverCall::kCopy, DriverCall::kUnmap, DriverCall::kMap, DriverCall::kSetAccess}) {
    const auto run = make_run({0, 1});
    EXPECT_OK(begin(*run));
    fill(*run, 7);
    fail(call, 1);
    EXPECT_EQ(moves().zero_copy.end(pages(*run)).code(), Code::kDriver) << static_cast<int>(call);
    fault().clear();
    EXPECT_EQ(run->pages[0].state, PageState::kZeroCopy);
    EXPECT_EQ(first_byte(*run), 7);
    EXPECT_EQ(device().usage().used, 0_B);
    EXPECT_OK(validate_run(*run));
    take_all(*run);
  }
}

TEST_F(PageZeroCopyTest, APageThatCannotBeMappedAnyMoreIsLost) {
  const auto run = make_run({0, 1});
  EXPECT_OK(begin(*run));
  wait_for_device();
  fault().fail({DriverCall::kMap, 1, Status(Code::kDriver, "injected", 999), true});
  EXPECT_EQ(moves().zero_copy.end(pages(*run)).code(), Code::kDriver);
  fault().clear();
  EXPECT_EQ(run->pages[0].state, PageState::kLost);
  EXPECT_EQ(run->missing.load(), 1U);
  EXPECT_OK(validate_run(*run));
  take_all(*run);
}

TEST_F(PageZeroCopyTest, AMovedBlockIsUsedInHostMemoryAtItsNewAddress) {
  const auto run = resident_run({0, 2});
  fill(*run, 7);
  EXPECT_OK(moves().zero_copy.begin(std::vector<PageRef>{{run.get(), 1}}).status());
  EXPECT_OK(moves().rehome(*run, reserve({0, 2})));
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_EQ(reinterpret_cast<const unsigned char*>(run->page_address(1).value())[0], 7);
  EXPECT_OK(validate_run(*run));
  take_all(*run);
}

TEST_F(PageZeroCopyTest, AReachablePageHasItsBytesAtItsAddressAndIsMissing) {
  const auto run = resident_run({0, 2});
  fill(*run, 7);
  EXPECT_EQ(moves().zero_copy.keep_reachable(pages(*run)).take(), 4_MiB);
  EXPECT_EQ(run->missing.load(), 2U) << "an announced use has to fetch it";
  EXPECT_EQ(first_byte(*run), 7);
  fill(*run, 8);
  EXPECT_OK(validate_run(*run));
  EXPECT_OK(moves().zero_copy.end(pages(*run)));
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(first_byte(*run), 8);
  take_all(*run);
}

TEST_F(PageZeroCopyTest, AReachablePageIsUsedWhereItIs) {
  const auto run = resident_run({0, 2});
  fill(*run, 7);
  EXPECT_OK(moves().zero_copy.keep_reachable(std::vector<PageRef>{{run.get(), 1}}).status());
  const std::uint64_t copies = fault().calls(DriverCall::kCopy);
  EXPECT_EQ(moves().zero_copy.begin(std::vector<PageRef>{{run.get(), 1}}).take(), 2_MiB);
  EXPECT_EQ(fault().calls(DriverCall::kCopy), copies) << "nothing moves";
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(run->bytes_in(PageState::kZeroCopy), 2_MiB);
  EXPECT_OK(validate_run(*run));
  take_all(*run);
}

TEST_F(PageZeroCopyTest, PagesThatCannotBeFilledTogetherStayInHostMemory) {
  const auto run = resident_run({0, 3});
  fill(*run, 7);
  EXPECT_OK(moves().zero_copy.keep_reachable(pages(*run)).status());
  fail(DriverCall::kCopy, 2);
  EXPECT_EQ(moves().zero_copy.end(pages(*run)).code(), Code::kDriver);
  fault().clear();
  EXPECT_EQ(run->bytes_in(PageState::kReachable), 6_MiB);
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_EQ(device().usage().used, 0_B);
  EXPECT_OK(validate_run(*run));
  take_all(*run);
}

TEST_F(PageZeroCopyTest, AMovedBlockIsReachableAtItsNewAddress) {
  const auto run = resident_run({0, 2});
  fill(*run, 7);
  EXPECT_OK(moves().zero_copy.keep_reachable(pages(*run)).status());
  EXPECT_OK(moves().rehome(*run, reserve({0, 2})));
  EXPECT_EQ(first_byte(*run), 7);
  EXPECT_EQ(run->bytes_in(PageState::kReachable), 4_MiB);
  EXPECT_OK(validate_run(*run));
  take_all(*run);
}

// With a second device, which shares the tier and reads by copies of its own.
class SharedPageZeroCopyTest : public PageMovesTest {
 protected:
  SharedPageZeroCopyTest()
      : PageMovesTest({.device = 8_MiB, .host = 32_MiB, .zero_copy = true, .sim = {.devices = 2, .memory = 64_MiB}}) {}

  Status begin(tessera::Run& run) { return moves().zero_copy.begin(pages(run)).status(); }
  // As read by the second device; -1 if it has no access.
  int byte_elsewhere(const tessera::Run& run, std::uint32_t page) {
    const StreamId stream = sim().create_stream(DeviceId(1)).take();
    unsigned char byte = 0;
    Status read = sim().copy_out(&byte, run.page_address(page), 1_B, stream);
    if (read.is_ok()) read = sim().synchronize(stream);
    EXPECT_OK(sim().destroy_stream(stream));
    return read.is_ok() ? byte : -1;
  }
};

TEST_F(SharedPageZeroCopyTest, AnotherDeviceReachesItOnceItIsOpenedAndAsLongAsItIsMapped) {
  const auto run = resident_run({0, 3});
  fill(*run, 7);
  const std::vector<PageRef> in_host{{run.get(), 1}, {run.get(), 2}};
  EXPECT_OK(moves().zero_copy.begin(in_host).status());
  EXPECT_EQ(byte_elsewhere(*run, 0), 7) << "a page on the device is copied as any other";
  ASSERT_OK(zero_copy().admit(DeviceId(1)));
  EXPECT_EQ(byte_elsewhere(*run, 1), -1);
  EXPECT_OK(moves().zero_copy.open_to_others(pages(*run)));
  EXPECT_EQ(byte_elsewhere(*run, 1), 7);
  EXPECT_EQ(byte_elsewhere(*run, 2), 7);
  const std::uint64_t calls = fault().calls(DriverCall::kSetAccess);
  EXPECT_OK(moves().zero_copy.open_to_others(pages(*run)));
  EXPECT_EQ(fault().calls(DriverCall::kSetAccess), calls) << "it is open";
  wait_for_device();
  EXPECT_OK(moves().zero_copy.end(in_host));
  EXPECT_OK(moves().zero_copy.begin(in_host).status());
  EXPECT_EQ(byte_elsewhere(*run, 1), -1) << "it is another mapping";
  EXPECT_OK(moves().zero_copy.open_to_others(pages(*run)));
  EXPECT_EQ(byte_elsewhere(*run, 1), 7);
  EXPECT_EQ(first_byte(*run), 7);
  take_all(*run);
}

TEST_F(SharedPageZeroCopyTest, AnErrorOfTheDriverLeavesItClosed) {
  const auto run = resident_run({0, 1});
  EXPECT_OK(begin(*run));
  ASSERT_OK(zero_copy().admit(DeviceId(1)));
  fail(DriverCall::kSetAccess, 1);
  EXPECT_EQ(moves().zero_copy.open_to_others(pages(*run)).code(), Code::kDriver);
  fault().clear();
  EXPECT_EQ(byte_elsewhere(*run, 0), -1);
  EXPECT_OK(moves().zero_copy.open_to_others(pages(*run)));
  EXPECT_NE(byte_elsewhere(*run, 0), -1);
  take_all(*run);
}

}  // namespace
}  // namespace tessera
