#include "tier/zero_copy_tier.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "sim_machine.hpp"

namespace tessera {
namespace {

class ZeroCopyTierTest : public testing::Test {
 protected:
  SimMachine machine_{SimOptions{.memory = 64_MiB}};
  HostTier host_{machine_.driver(), 16_MiB, 0_B, system_host_pages(), &system_host_pages()};
  ZeroCopyTier tier_{machine_.driver(), DeviceId(0), host_};
};

TEST_F(ZeroCopyTierTest, FramesComeOutOfTheHostBudget) {
  const Frame frame = tier_.take(PageClass::kBase).take();
  EXPECT_EQ(host_.usage_with_staging().used, kBasePage);
  EXPECT_EQ(tier_.usage().used, kBasePage);
  tier_.give_back(frame);
  EXPECT_EQ(host_.usage_with_staging().used, 0_B);
  EXPECT_EQ(tier_.usage().spare, 0_B) << "no budget counts it any more";
}

TEST_F(ZeroCopyTierTest, TheBudgetIsNotExceeded) {
  std::vector<Frame> frames;
  for (Result<Frame> frame = tier_.take(PageClass::kBase); frame.is_ok(); frame = tier_.take(PageClass::kBase)) {
    frames.push_back(frame.value());
  }
  EXPECT_EQ(kBasePage * frames.size(), 16_MiB);
  EXPECT_EQ(host_.take(PageClass::kBase).status().code(), Code::kOutOfMemory);
  for (const Frame& frame : frames) tier_.give_back(frame);
  const Result<Frame> page = host_.take(PageClass::kBase);
  ASSERT_TRUE(page.is_ok());
  host_.give_back(page.value());
}

TEST_F(ZeroCopyTierTest, PagesKeepAPartOfTheBudget) {
  const Frame page = host_.take(PageClass::kBase).take();
  std::vector<Frame> frames;
  for (Result<Frame> frame = tier_.take(PageClass::kBase); frame.is_ok(); frame = tier_.take(PageClass::kBase)) {
    frames.push_back(frame.value());
  }
  EXPECT_EQ(kBasePage * frames.size(), 12_MiB) << "an eighth is kept, beside the page";
  for (const Frame& frame : frames) tier_.give_back(frame);
  host_.give_back(page);
}

}  // namespace
}  // namespace tessera
