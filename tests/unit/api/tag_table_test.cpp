#include "api/tag_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace tessera {
namespace {

TEST(TagTable, GivesOneNumberPerName) {
  TagTable tags;
  const TagId weights = tags.intern("weights").value();
  const TagId kv = tags.intern("kv").value();
  EXPECT_NE(weights, kv);
  EXPECT_EQ(tags.intern("weights").value(), weights);
  EXPECT_EQ(tags.name_of(kv), "kv");
}

TEST(TagTable, FindsOnlyNamedTags) {
  TagTable tags;
  const TagId kv = tags.intern("kv").value();
  EXPECT_EQ(tags.find("kv"), kv);
  EXPECT_EQ(tags.find(""), TagId());
  EXPECT_FALSE(tags.find("vk").has_value());
  EXPECT_EQ(tags.size(), 2U);
}

TEST(TagTable, ReturnsTheNameOfATag) {
  TagTable tags;
  EXPECT_EQ(tags.class_of(tags.intern("kv").value()), RunClass::kKvCache);
  EXPECT_EQ(tags.class_of(tags.intern("mine").value()), RunClass::kUnknown);
  EXPECT_EQ(tags.class_of(TagId()), RunClass::kUnknown);
}

TEST(TagTable, TheEmptyNameIsNoTag) {
  TagTable tags;
  EXPECT_EQ(tags.intern("").value(), TagId());
  EXPECT_EQ(tags.name_of(TagId()), "");
}

TEST(TagTable, RefusesNamesThatAreTooLong) {
  TagTable tags;
  EXPECT_TRUE(tags.intern(std::string(TagTable::kMaxLength, 'x')).is_ok());
  EXPECT_EQ(tags.intern(std::string(TagTable::kMaxLength + 1, 'x')).status().code(), Code::kInvalidArgument);
}

TEST(TagTable, IsBounded) {
  TagTable tags;
  for (std::size_t i = 1; i < TagTable::kMaxTags; ++i) {
    ASSERT_TRUE(tags.intern(std::to_string(i)).is_ok());
  }
  EXPECT_EQ(tags.intern("one more").status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(tags.intern("17").is_ok());
}

TEST(TagStack, TheInnermostTagIsCurrent) {
  EXPECT_EQ(TagStack::current(), TagId());
  ASSERT_TRUE(TagStack::push(TagId(1)).is_ok());
  ASSERT_TRUE(TagStack::push(TagId(2)).is_ok());
  EXPECT_EQ(TagStack::current(), TagId(2));
  ASSERT_TRUE(TagStack::pop().is_ok());
  EXPECT_EQ(TagStack::current(), TagId(1));
  ASSERT_TRUE(TagStack::pop().is_ok());
  EXPECT_EQ(TagStack::pop().code(), Code::kInvalidArgument);
}

TEST(TagStack, BelongsToItsThread) {
  ASSERT_TRUE(TagStack::push(TagId(7)).is_ok());
  std::thread([] { EXPECT_EQ(TagStack::current(), TagId()); }).join();
  ASSERT_TRUE(TagStack::pop().is_ok());
}

TEST(TagStack, IsBounded) {
  for (std::size_t i = 0; i < TagStack::kMaxDepth; ++i) ASSERT_TRUE(TagStack::push(TagId(1)).is_ok());
  EXPECT_EQ(TagStack::push(TagId(1)).code(), Code::kInvalidArgument);
  while (TagStack::pop().is_ok()) {
  }
}

}  // namespace
}  // namespace tessera
