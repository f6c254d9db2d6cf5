// The driver contract, third part: fingerprints.
//
// A machine without fingerprints must return kNotSupported, and the rest is skipped. Instantiated through
// driver_contract.hpp.
//
// Thread safety: a test suite.
#pragma once

#include <array>
#include <utility>

#include "driver/fingerprint_lane.h"
#include "driver_fixture.hpp"

namespace tessera::contract {

template <class Machine>
class DriverFingerprintContract : public DriverFixture<Machine> {
 protected:
  static constexpr std::size_t kPartWords = kFingerprintPart.value() / sizeof(std::uint32_t);

  void SetUp() override {
    DriverFixture<Machine>::SetUp();
    parts_ = this->page_ / kFingerprintPart;
    results_ = reinterpret_cast<Fingerprint*>(this->pinned(4 * parts_ * kResultWords, 0));
    on_ = this->stream();
    at_ = this->memory();
    std::vector<std::uint32_t> words(parts_ * kPartWords);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(i * 2654435761U);
    this->put(at_, words, on_);
    const Status status = ask({{at_, this->page_}});
    if (status.code() == Code::kNotSupported) GTEST_SKIP() << status.to_string();
    ASSERT_STATUS_OK(status);
    ASSERT_STATUS_OK(this->driver().synchronize(on_));
    first_ = sum(0, parts_);
  }

  Status ask(std::vector<DeviceRange> ranges, std::size_t result = 0) {
    return this->driver().fingerprint(this->kDevice, ranges, results_ + result, on_);
  }
  Fingerprint sum(std::size_t first, std::size_t count) const {
    Fingerprint all;
    for (std::size_t i = first; i < first + count; ++i) {
      all.low += results_[i].low;
      all.high += results_[i].high;
    }
    return all;
  }
  // The current fingerprint of the first page.
  Fingerprint now() {
    EXPECT_STATUS_OK(ask({{at_, this->page_}}));
    EXPECT_STATUS_OK(this->driver().synchronize(on_));
    return sum(0, parts_);
  }
  // Lanes of 16 bytes.
  Address lane(std::size_t index) const { return at_ + Bytes(16 * index); }

  static constexpr std::size_t kResultWords = sizeof(Fingerprint) / sizeof(std::uint32_t);
  std::size_t parts_ = 0;
  Fingerprint* results_ = nullptr;
  StreamId on_;
  Address at_;
  Fingerprint first_;
};

TYPED_TEST_SUITE_P(DriverFingerprintContract);

TYPED_TEST_P(DriverFingerprintContract, EqualBytesHaveEqualFingerprintsWhereverTheyLie) {
  const Address other = this->memory();
  ASSERT_STATUS_OK(this->driver().copy(other, this->at_, this->page_, this->on_));
  ASSERT_STATUS_OK(this->ask({{other, this->page_}, {this->at_, this->page_}}));
  ASSERT_STATUS_OK(this->driver().synchronize(this->on_));
  EXPECT_EQ(this->sum(0, this->parts_), this->first_);
  EXPECT_EQ(this->sum(this->parts_, this->parts_), this->first_);
  for (std::size_t i = 0; i < this->parts_; ++i) EXPECT_EQ(this->results_[i], this->results_[this->parts_ + i]) << i;
}

TYPED_TEST_P(DriverFingerprintContract, IsTheSumOfItsLanes) {
  const auto words = this->get(this->at_, this->parts_ * this->kPartWords, this->on_);
  tessera_print sum{};
  for (std::size_t i = 0; i < words.size(); i += 4) {
    const auto word = [&](std::size_t at) { return words[at] | std::uint64_t{words[at + 1]} << 32; };
    tessera_print_add(&sum, word(i), word(i + 2), i / 4);
  }
  EXPECT_EQ(this->first_, (Fingerprint{sum.low, sum.high}));
}

TYPED_TEST_P(DriverFingerprintContract, OneChangedBitChangesIt) {
  const std::size_t words = this->parts_ * this->kPartWords;
  for (const std::size_t word : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{5},
                                 this->kPartWords - 1, this->kPartWords, words / 2 + 7, words - 1}) {
    const Address where = this->at_ + this->words(word);
    const std::uint32_t before = this->get(where, 1, this->on_).front();
    for (const std::uint32_t bit : {0U, 1U, 15U, 31U}) {
      this->put(where, {before ^ (1U << bit)}, this->on_);
      EXPECT_NE(this->now(), this->first_) << "bit " << bit << " of word " << word;
    }
    this->put(where, {before}, this->on_);
  }
  EXPECT_EQ(this->now(), this->first_);
}

TYPED_TEST_P(DriverFingerprintContract, LanesThatChangePlacesChangeIt) {
  const std::size_t lanes = this->page_.value() / 16;
  for (const auto& [a, b] : {std::pair{std::size_t{0}, std::size_t{1}},
                             {std::size_t{3}, std::size_t{259}},
                             {std::size_t{7}, lanes / 2 + 7},
                             {lanes - 1, std::size_t{0}}}) {
    const auto one = this->get(this->lane(a), 4, this->on_), two = this->get(this->lane(b), 4, this->on_);
    this->put(this->lane(a), two, this->on_);
    this->put(this->lane(b), one, this->on_);
    EXPECT_NE(this->now(), this->first_) << a << " and " << b;
    this->put(this->lane(a), one, this->on_);
    this->put(this->lane(b), two, this->on_);
  }
  EXPECT_EQ(this->now(), this->first_);
}

TYPED_TEST_P(DriverFingerprintContract, IsTakenInTheOrderOfItsStream) {
  const std::size_t half = 2 * this->parts_;
  ASSERT_STATUS_OK(this->churn(this->at_, 4096, 3000, this->on_));
  ASSERT_STATUS_OK(this->ask({{this->at_, this->page_}}));
  ASSERT_STATUS_OK(this->driver().fill(this->at_, 0, this->page_, this->on_));
  ASSERT_STATUS_OK(this->ask({{this->at_, this->page_}}, half));
  ASSERT_STATUS_OK(this->driver().synchronize(this->on_));
  const Fingerprint churned = this->sum(0, this->parts_), empty = this->sum(half, this->parts_);
  EXPECT_NE(churned, this->first_);
  EXPECT_NE(empty, this->first_);
  EXPECT_NE(churned, empty);
  EXPECT_EQ(this->now(), empty);
}

TYPED_TEST_P(DriverFingerprintContract, WritesOneForEachPartOfEachRangeAndNoMore) {
  if (this->parts_ < 4) GTEST_SKIP() << "a page has too few parts";
  const Bytes part = kFingerprintPart;
  for (std::size_t i = 0; i < 4 * this->parts_; ++i) this->results_[i] = {i, ~i};
  // Three ranges of different lengths, out of order.
  ASSERT_STATUS_OK(this->ask({{this->at_ + part * 2, part * 2}, {this->at_, part}, {this->at_ + part, part * 3}}));
  ASSERT_STATUS_OK(this->driver().synchronize(this->on_));
  EXPECT_EQ(this->results_[6], (Fingerprint{6, ~std::uint64_t{6}}));
  const std::vector<Fingerprint> got(this->results_, this->results_ + 6);
  // Each range by itself gives the same.
  const std::array<DeviceRange, 3> ranges{
      {{this->at_ + part * 2, part * 2}, {this->at_, part}, {this->at_ + part, part * 3}}};
  std::size_t next = 0;
  for (const DeviceRange& range : ranges) {
    ASSERT_STATUS_OK(this->ask({range}));
    ASSERT_STATUS_OK(this->driver().synchronize(this->on_));
    for (std::size_t i = 0; i < range.bytes / part; ++i) EXPECT_EQ(this->results_[i], got[next++]);
  }
}

TYPED_TEST_P(DriverFingerprintContract, TakesTheStatedNumberOfRangesAtOnce) {
  const Bytes part = kFingerprintPart;
  const std::size_t parts = std::min(this->parts_, std::size_t{32});
  std::vector<DeviceRange> ranges;
  for (std::size_t i = 0; i < kMostFingerprints; ++i) ranges.push_back({this->at_ + part * (i % parts), part});
  ASSERT_LE(kMostFingerprints, 4 * this->parts_);
  ASSERT_STATUS_OK(this->ask(ranges));
  ASSERT_STATUS_OK(this->driver().synchronize(this->on_));
  for (std::size_t i = parts; i < kMostFingerprints; ++i) EXPECT_EQ(this->results_[i], this->results_[i % parts]) << i;
  EXPECT_NE(this->results_[0], this->results_[1]);
}

REGISTER_TYPED_TEST_SUITE_P(DriverFingerprintContract, EqualBytesHaveEqualFingerprintsWhereverTheyLie,
                            IsTheSumOfItsLanes, OneChangedBitChangesIt, LanesThatChangePlacesChangeIt,
                            IsTakenInTheOrderOfItsStream, WritesOneForEachPartOfEachRangeAndNoMore,
                            TakesTheStatedNumberOfRangesAtOnce);

}  // namespace tessera::contract
