#include "tier/registered_pages.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

using Calls = std::vector<std::string>;

class NotedPages final : public HostPages {
 public:
  explicit NotedPages(Calls& calls) : calls_(calls) {}
  void place(void*, Bytes, unsigned node) override { calls_.push_back("place " + std::to_string(node)); }
  bool open(void*, Bytes) override {
    calls_.push_back("open");
    return !refuses;
  }
  void close(void*, Bytes) override { calls_.push_back("close"); }
  bool refuses = false;

 private:
  Calls& calls_;
};

class NotedIo final : public FileIo {
 public:
  explicit NotedIo(Calls& calls) : calls_(calls) {}
  const char* name() const override { return "test"; }
  Result<IoTicket> read(void*, Bytes, Bytes) override { return IoTicket(1); }
  Result<IoTicket> write(const void*, Bytes, Bytes) override { return IoTicket(1); }
  Status poll(IoTicket) override { return {}; }
  Status wait(IoTicket) override { return {}; }
  void attach(void*, Bytes) override { calls_.push_back("attach"); }
  void detach(void*) override { calls_.push_back("detach"); }
  Status discard(Bytes, Bytes) override { return {}; }

 private:
  Calls& calls_;
};

class RegisteredPagesTest : public testing::Test {
 protected:
  char memory_[16] = {};
  Calls calls_;
  NotedPages pages_{calls_};
  FileTier file_{std::make_unique<NotedIo>(calls_), 4_MiB};
  RegisteredPages registered_{pages_, file_};
};

TEST_F(RegisteredPagesTest, MemoryIsKnownFromWhenItIsOpenUntilBeforeItIsClosed) {
  EXPECT_TRUE(registered_.open(memory_, 16_B));
  registered_.close(memory_, 16_B);
  EXPECT_EQ(calls_, (Calls{"open", "attach", "detach", "close"}));
}

TEST_F(RegisteredPagesTest, PassesThePlacementOn) {
  registered_.place(memory_, 16_B, 3);
  EXPECT_EQ(calls_, (Calls{"place 3"}));
}

TEST_F(RegisteredPagesTest, RefusedMemoryIsNotRegistered) {
  pages_.refuses = true;
  EXPECT_FALSE(registered_.open(memory_, 16_B));
  EXPECT_EQ(calls_, (Calls{"open"}));
}

}  // namespace
}  // namespace tessera
