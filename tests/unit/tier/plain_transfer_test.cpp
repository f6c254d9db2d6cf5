#include "tier/plain_transfer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "block_buffer.hpp"
#include "in_child.hpp"
#include "tier/spill_file.hpp"

namespace tessera {
namespace {

class PlainTransferTest : public ::testing::Test {
 protected:
  int file() const { return file_.descriptor(); }
  static Chunk chunk(bool writing, BlockBuffer& memory, Bytes bytes, Bytes offset) {
    return {.writing = writing, .host = static_cast<std::byte*>(memory.data()), .offset = offset, .bytes = bytes};
  }

  SpillFile file_ = make_spill_file(::testing::TempDir(), 16_MiB).take();
};

TEST_F(PlainTransferTest, WrittenBytesAreReadBack) {
  BlockBuffer out(1_MiB, 7), in(1_MiB);
  Chunk writing = chunk(true, out, 1_MiB, 2_MiB), reading = chunk(false, in, 1_MiB, 2_MiB);
  EXPECT_EQ(carry_out(file(), writing), 0);
  EXPECT_EQ(carry_out(file(), reading), 0);
  EXPECT_TRUE(in.holds(7));
  EXPECT_EQ(reading.left(), Bytes());
}

TEST_F(PlainTransferTest, ContinuesAPartialChunk) {
  BlockBuffer out(8_KiB, 7), in(8_KiB);
  Chunk whole = chunk(true, out, 8_KiB, Bytes()), rest = chunk(false, in, 8_KiB, Bytes());
  EXPECT_EQ(carry_out(file(), whole), 0);
  std::memcpy(in.data(), out.data(), 4096);
  rest.advance(4096);
  EXPECT_EQ(carry_out(file(), rest), 0);
  EXPECT_TRUE(in.holds(7));
}

TEST_F(PlainTransferTest, ReportsEndOfFileAndErrors) {
  BlockBuffer memory(1_MiB);
  Chunk behind = chunk(false, memory, 1_MiB, 16_MiB);
  EXPECT_EQ(carry_out(file(), behind), kFileEnds);
  Chunk nowhere = chunk(false, memory, 1_MiB, Bytes());
  EXPECT_EQ(carry_out(-1, nowhere), EBADF);
}

TEST_F(PlainTransferTest, EndlessInterruptionsEndInAnError) {
  if (!can_refuse()) GTEST_SKIP() << "no filters of system calls on this machine";
  for (const int error : {EINTR, EAGAIN}) {
    EXPECT_TRUE(in_child([&] {
      BlockBuffer memory(4_KiB);
      Chunk reading = chunk(false, memory, 4_KiB, Bytes());
      return refuse({{SYS_pread64, error, 0, 0}}) && carry_out(file(), reading) == error;
    })) << error;
  }
}

TEST_F(PlainTransferTest, ReportsWhySpaceCannotBeFreed) {
  EXPECT_TRUE(punch_hole(file(), Bytes(), 1_MiB, "/d").is_ok());
  EXPECT_EQ(punch_hole(-1, Bytes(), 1_MiB, "/d").code(), Code::kIo);
  if (!can_refuse()) GTEST_SKIP() << "no filters of system calls on this machine";
  for (const int error : {EOPNOTSUPP, ENOSYS, EPERM}) {
    EXPECT_TRUE(in_child([&] {
      return refuse({{SYS_fallocate, error, 0, 0}}) &&
             punch_hole(file(), Bytes(), 1_MiB, "/d").code() == Code::kNotSupported;
    })) << error;
  }
}

}  // namespace
}  // namespace tessera
