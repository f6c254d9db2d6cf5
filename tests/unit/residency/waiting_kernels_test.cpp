#include "residency/streams/waiting_kernels.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr std::uint32_t kSlot = 3, kOther = 4;

class Waiting : public ::testing::Test {
 protected:
  bool waits(const char* work) const {
    const auto known = kernels_.find(work);
    return known && !known->is_suspect;
  }
  bool is_suspect(const char* work) const {
    const auto known = kernels_.find(work);
    return known && known->is_suspect;
  }
  const char* const a_ = "a";
  const char* const b_ = "b";
  const char* const c_ = "c";
  WaitingKernels kernels_;
};

TEST_F(Waiting, AKnownKernelKeepsItsAllowance) {
  EXPECT_FALSE(kernels_.any());
  kernels_.add(a_, Nanoseconds(7));
  EXPECT_TRUE(kernels_.any());
  EXPECT_EQ(kernels_.find(a_)->allowance, Nanoseconds(7));
  EXPECT_FALSE(kernels_.find(b_));
  kernels_.note(a_, kSlot, Epoch(5));
  kernels_.note(b_, kSlot, Epoch(6));
  kernels_.accuse(kSlot, Epoch(4), Epoch(6));
  EXPECT_EQ(kernels_.find(a_)->allowance, Nanoseconds(7));
  EXPECT_FALSE(kernels_.find(b_)) << "which one of them waits is known";
}

TEST_F(Waiting, AKernelLaunchedAloneIsTheWaitingOne) {
  kernels_.note(b_, kSlot, Epoch(4));
  kernels_.note(a_, kSlot, Epoch(5));
  kernels_.note(b_, kOther, Epoch(6));
  kernels_.note(a_, kSlot, Epoch(7));
  kernels_.note(b_, kSlot, Epoch(8));
  kernels_.accuse(kSlot, Epoch(4), Epoch(7));
  EXPECT_TRUE(waits(a_));
  EXPECT_FALSE(kernels_.find(b_));
}

TEST_F(Waiting, SeveralKernelsAreSuspectsUntilOneIsIsolated) {
  kernels_.note(a_, kSlot, Epoch(5));
  kernels_.note(b_, kSlot, Epoch(6));
  kernels_.accuse(kSlot, Epoch(4), Epoch(6));
  EXPECT_TRUE(is_suspect(a_) && is_suspect(b_));
  kernels_.note(b_, kSlot, Epoch(8));
  kernels_.note(c_, kSlot, Epoch(9));  // was not present before
  kernels_.accuse(kSlot, Epoch(7), Epoch(9));
  EXPECT_TRUE(waits(b_));
  EXPECT_TRUE(is_suspect(a_));
  EXPECT_FALSE(kernels_.find(c_));
}

TEST_F(Waiting, KernelsWithoutANameAreNotAccused) {
  kernels_.note(nullptr, kSlot, Epoch(5));
  kernels_.note(a_, kSlot, Epoch(6));
  kernels_.accuse(kSlot, Epoch(4), Epoch(6));
  EXPECT_FALSE(kernels_.any());
}

TEST_F(Waiting, TheTableIsBounded) {
  std::vector<char> names(WaitingKernels::kMostKnown + 1);
  for (const char& name : names) kernels_.add(&name, Nanoseconds(1));
  EXPECT_TRUE(kernels_.find(&names[WaitingKernels::kMostKnown - 1]));
  EXPECT_FALSE(kernels_.find(&names.back()));
}

}  // namespace
}  // namespace tessera
