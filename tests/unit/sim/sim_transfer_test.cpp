#include "sim/sim_transfer.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tessera {
namespace {

class SimTransferTest : public ::testing::Test {
 protected:
  static std::span<std::byte> bytes_of(std::vector<unsigned char>& values, std::size_t from, std::size_t count) {
    return std::as_writable_bytes(std::span(values)).subspan(from, count);
  }
};

TEST_F(SimTransferTest, ACopyMovesItsBytes) {
  std::vector<unsigned char> from(100);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(0));
  std::vector<unsigned char> to(100, 255);
  const SimWork work = make_transfer("copy", bytes_of(to, 0, 99), bytes_of(from, 0, 99));
  EXPECT_TRUE(work.run(work).is_ok());
  from[99] = 255;
  EXPECT_EQ(to, from);
}

TEST_F(SimTransferTest, FillsSetElementsOfEachWidth) {
  std::vector<unsigned char> to(8, 0);
  SimWork work = make_fill(bytes_of(to, 0, 4), 0x11223344, 1);
  EXPECT_TRUE(work.run(work).is_ok());
  EXPECT_EQ(to, (std::vector<unsigned char>{0x44, 0x44, 0x44, 0x44, 0, 0, 0, 0}));
  work = make_fill(bytes_of(to, 4, 4), 0x11223344, 2);
  EXPECT_TRUE(work.run(work).is_ok());
  EXPECT_EQ(to, (std::vector<unsigned char>{0x44, 0x44, 0x44, 0x44, 0x44, 0x33, 0x44, 0x33}));
  work = make_fill(bytes_of(to, 0, 8), 0x11223344, 4);
  EXPECT_TRUE(work.run(work).is_ok());
  EXPECT_EQ(to, (std::vector<unsigned char>{0x44, 0x33, 0x22, 0x11, 0x44, 0x33, 0x22, 0x11}));
}

}  // namespace
}  // namespace tessera
