#include "residency/streams/stream_keys.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

constexpr std::uint64_t kThread = 7;

class StreamKeysTest : public testing::Test {
 protected:
  StreamKeys keys_;
};

TEST_F(StreamKeysTest, AStreamIsFoundByItselfAndItsThread) {
  keys_.put(StreamId(64), 0, 3);
  keys_.put(StreamId(64), kThread, 5);
  EXPECT_EQ(keys_.find(StreamId(64), 0), 3U);
  EXPECT_EQ(keys_.slot_of(StreamId(64)), 3U);
  EXPECT_EQ(keys_.find(StreamId(64), kThread), 5U);
  EXPECT_FALSE(keys_.find(StreamId(65), 0));
  EXPECT_FALSE(keys_.slot_of(StreamId(65)));
}

TEST_F(StreamKeysTest, AForgottenKeyIsReusedAndHidesNoneBehindIt) {
  // Streams whose first key is the same.
  std::vector<StreamId> streams;
  const std::size_t place = StreamKeys::hash_of(StreamId(1), 0) % 256;
  for (std::uint64_t id = 1; streams.size() < 3; ++id) {
    if (StreamKeys::hash_of(StreamId(id), 0) % 256 == place) streams.emplace_back(id);
  }
  for (std::uint32_t i = 0; i < 2; ++i) keys_.put(streams[i], 0, i);
  EXPECT_FALSE(keys_.slot_of(streams[1])) << "it is behind the first";
  EXPECT_EQ(keys_.find(streams[1], 0), 1U);
  keys_.forget(streams[0], 0);
  EXPECT_FALSE(keys_.find(streams[0], 0));
  EXPECT_EQ(keys_.find(streams[1], 0), 1U);
  keys_.put(streams[2], 0, 2);
  EXPECT_EQ(keys_.slot_of(streams[2]), 2U);
}

TEST_F(StreamKeysTest, StreamsBeyondTheBoundAreNotFound) {
  std::size_t found = 0;
  for (std::uint64_t id = 1; id <= 300; ++id) keys_.put(StreamId(id), 0, 1);
  for (std::uint64_t id = 1; id <= 300; ++id) found += keys_.find(StreamId(id), 0) ? 1 : 0;
  EXPECT_EQ(found, 256U);
}

}  // namespace
}  // namespace tessera
