#include "residency/pages/run.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const Frame kDeviceFrame{.tier = Location::kDevice, .page_class = PageClass::kBase, .value = 1};
const Frame kPeerFrame{.tier = Location::kPeer, .page_class = PageClass::kBase, .value = 8192};
const Frame kHostFrame{.tier = Location::kHost, .page_class = PageClass::kBase, .value = 4096};
const Frame kFileFrame{.tier = Location::kFile, .page_class = PageClass::kBase, .value = 0};

// A run of one page in the given state, with consistent bookkeeping.
void put(Run& run, PageState state) {
  run.bytes_in(run.pages[0].state) -= kBasePage;
  run.bytes_in(state) += kBasePage;
  run.pages[0].state = state;
  run.missing.store(is_present(state) ? 0 : 1);
}

class ARun : public testing::Test {
 protected:
  void expect_broken(const char* words) {
    const Status status = validate_run(run_);
    EXPECT_EQ(status.code(), Code::kInternal);
    EXPECT_NE(status.message().find(words), std::string_view::npos) << status.to_string();
  }
  void expect_sound() { EXPECT_EQ(validate_run(run_).to_string(), "ok"); }

  tessera::Run run_{Address(kLargePage.value()), {0, 1}, TagId()};
  Page& page_ = run_.pages[0];
};

TEST_F(ARun, IsSoundWhenNew) { expect_sound(); }

TEST_F(ARun, HasAnAddressForEachPage) {
  const tessera::Run run(Address(0), {1, 2}, TagId());
  EXPECT_EQ(run.page_address(1), Address(0) + kLargePage);
  EXPECT_EQ(run.page_address(2), Address(0) + kLargePage + kBasePage);
}

TEST_F(ARun, CountsItsMissingPages) {
  run_.missing.store(0);
  expect_broken("1 pages missing, 0 counted");
}

TEST_F(ARun, CountsItsBytesByState) {
  run_.bytes_in(PageState::kCold) += kBasePage;
  expect_broken("do not add up");
}

TEST_F(ARun, HasADeviceFrameExactlyWhileItIsMapped) {
  put(run_, PageState::kResident);
  expect_broken("the device frame does not match its state");
  page_.device = kDeviceFrame;
  expect_sound();
  put(run_, PageState::kEmpty);
  expect_broken("the device frame does not match its state");
}

TEST_F(ARun, HasFramesOfItsPageClass) {
  put(run_, PageState::kResident);
  page_.device = Frame{.tier = Location::kDevice, .page_class = PageClass::kLarge, .value = 1};
  expect_broken("another page class");
}

TEST_F(ARun, HasTheBytesOfAColdPageSomewhere) {
  put(run_, PageState::kCold);
  expect_broken("no copy of its bytes");
  page_.file = kFileFrame;
  expect_sound();
}

TEST_F(ARun, HasBothEndsOfATransfer) {
  for (PageState state : {PageState::kSpilling, PageState::kLoading}) {
    put(run_, state);
    page_.host = kHostFrame;
    page_.file.reset();
    expect_broken("without a host or file frame");
    page_.file = kFileFrame;
    expect_sound();
  }
}

TEST_F(ARun, HasAFrameAtTheOtherEndOfACopy) {
  for (PageState state : {PageState::kEvicting, PageState::kFetching}) {
    put(run_, state);
    page_.device = kDeviceFrame;
    page_.host.reset();
    expect_broken("without a source or target");
    page_.host = kHostFrame;
    expect_sound();
  }
}

TEST_F(ARun, HasNoOtherCopyBesideAPeers) {
  put(run_, PageState::kCold);
  page_.peer = kPeerFrame;
  expect_sound();
  page_.host = kHostFrame;
  expect_broken("a peer copy in addition to others");
  page_.host.reset();
  page_.fingerprint.of_copy = Fingerprint{};
  expect_broken("a fingerprint of a peer copy");
}

TEST_F(ARun, KeepsNoCopiesOfBytesThatDoNotMatter) {
  page_.host = kHostFrame;
  expect_broken("are not needed");
}

TEST_F(ARun, IsEvictableUnlessHeldOrPinned) {
  EXPECT_TRUE(run_.is_evictable());
  run_.holds.store(1);
  EXPECT_FALSE(run_.is_evictable());
  run_.holds.store(0);
  run_.pins.store(1);
  EXPECT_FALSE(run_.is_evictable());
}

}  // namespace
}  // namespace tessera
