#include "residency/pages/named_uses.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// One run, with uses as launches and others stamp them.
class NamedUsesTest : public ::testing::Test {
 protected:
  void launch() {
    if (!now_.used.is_never()) now_.gap = next_ - now_.used.value();
    now_.used = Epoch(next_++);
  }
  void other() {
    launch();
    named_.note_other(now_);
  }
  void free_and_allocate() { now_.freed = Epoch(next_++); }
  void free_before_next() { now_.freed = Epoch(next_); }
  void end() { named_.note_end(now_.used); }
  bool any() const { return named_.any(now_); }

 private:
  NamedUses named_;
  UseStamps now_;
  std::uint64_t next_ = 1;
};

TEST_F(NamedUsesTest, ALaunchNamesIt) {
  EXPECT_FALSE(any());
  launch();
  EXPECT_TRUE(any());
}

TEST_F(NamedUsesTest, OtherUsesDoNot) {
  for (int i = 0; i < 5; ++i) other();
  EXPECT_FALSE(any());
  launch();
  EXPECT_TRUE(any());
}

TEST_F(NamedUsesTest, ALaunchBeforeOtherUsesIsNotForgotten) {
  other();
  launch();
  for (int i = 0; i < 5; ++i) other();
  EXPECT_TRUE(any());
}

// The end of a block is stamped with the epoch that the next launch gets.
TEST_F(NamedUsesTest, ALaunchRightAfterTheEndOfTheBlockBeforeNamesTheNext) {
  launch();
  free_before_next();
  EXPECT_FALSE(any());
  launch();
  EXPECT_TRUE(any());
  other();
  EXPECT_TRUE(any());
  free_before_next();
  EXPECT_FALSE(any());
  other();
  EXPECT_FALSE(any());
}

TEST_F(NamedUsesTest, TheNextBlockBeginsAnew) {
  launch();
  launch();
  free_and_allocate();
  EXPECT_FALSE(any());
  other();
  EXPECT_FALSE(any()) << "the use before it was of the last block";
  launch();
  EXPECT_TRUE(any());
  other();
  free_and_allocate();
  EXPECT_FALSE(any());
}

TEST_F(NamedUsesTest, ABlockMayEndWithoutAStamp) {
  launch();
  end();
  EXPECT_FALSE(any());
  other();
  EXPECT_FALSE(any());
  launch();
  EXPECT_TRUE(any());
}

TEST_F(NamedUsesTest, AUseThatIsNotedTwiceHidesNoLaunch) {
  NamedUses named;
  named.note_other({Epoch(5), 1, Epoch()});
  named.note_other({Epoch(5), 1, Epoch()});
  EXPECT_TRUE(named.any({Epoch(5), 1, Epoch()})) << "the launch of epoch 4";
  NamedUses late;
  late.note_other({Epoch(6), 0, Epoch()});
  late.note_other({Epoch(5), 0, Epoch()});  // it was stamped before the other
  EXPECT_FALSE(late.any({Epoch(6), 1, Epoch()}));
}

}  // namespace
}  // namespace tessera
