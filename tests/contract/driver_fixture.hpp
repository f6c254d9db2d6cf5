// The fixture of the driver contract suite: a Machine with a driver, and everything that a test creates on it.
//
// An implementation instantiates the suite (driver_contract.hpp) with a Machine: a default-constructible type with
//   Driver& driver();            on a machine without other work, with 64 MiB or more
//   const void* churn_kernel();  the driver's handle of
//                                  void churn(uint32_t* data, uint32_t count, uint32_t rounds)
//                                which applies x = x * 1664525 + 1013904223, `rounds` times, to each
//                                element, with one thread per element
//   void finish();               called when a test is over and has released everything
//   static constexpr bool kFindsDestroyedHandles;  using a destroyed handle is an error, not undefined
//
// Thread safety: a test fixture.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "driver/driver.hpp"
#include "driver/native_codes.hpp"

namespace tessera::contract {

inline std::uint32_t churned(std::uint32_t value, std::uint32_t rounds) {
  for (std::uint32_t i = 0; i < rounds; ++i) value = value * 1664525U + 1013904223U;
  return value;
}

inline std::string text(const Status& status) { return status.to_string(); }

#define EXPECT_STATUS_OK(expression)                           \
  do {                                                         \
    const ::tessera::Status got_status = (expression);         \
    EXPECT_TRUE(got_status.is_ok()) << got_status.to_string(); \
  } while (false)
#define ASSERT_STATUS_OK(expression)                           \
  do {                                                         \
    const ::tessera::Status got_status = (expression);         \
    ASSERT_TRUE(got_status.is_ok()) << got_status.to_string(); \
  } while (false)

template <class Machine>
class DriverFixture : public ::testing::Test {
 protected:
  static constexpr DeviceId kDevice{0};

  void SetUp() override {
    auto found = driver().properties(kDevice);
    ASSERT_TRUE(found.is_ok()) << text(found.status());
    properties_ = found.take();
    ASSERT_TRUE(properties_.virtual_memory) << "the suite needs virtual memory management";
    page_ = properties_.granularity;
  }

  void TearDown() override {
    EXPECT_STATUS_OK(driver().synchronize(kDevice));
    for (const auto& [host, bytes] : pinned_) EXPECT_STATUS_OK(driver().unregister_host(host));
    for (const auto& [start, bytes] : mapped_) EXPECT_STATUS_OK(driver().unmap(start, bytes));
    for (const FrameId frame : frames_) EXPECT_STATUS_OK(driver().destroy_frame(frame));
    for (const auto& [start, bytes] : ranges_) EXPECT_STATUS_OK(driver().release(start, bytes));
    for (const StreamId stream : streams_) EXPECT_STATUS_OK(driver().destroy_stream(stream));
    for (const EventId event : events_) EXPECT_STATUS_OK(driver().destroy_event(event));
    machine_.finish();
  }

  Driver& driver() { return machine_.driver(); }

  // Each of these creates a resource that TearDown releases.
  Address range(std::uint64_t pages, Bytes alignment = Bytes()) {
    auto got = driver().reserve(page_ * pages, alignment ? alignment : page_);
    EXPECT_TRUE(got.is_ok()) << text(got.status());
    if (!got.is_ok()) return Address();
    ranges_[got.value()] = page_ * pages;
    return got.value();
  }
  FrameId frame(std::uint64_t pages = 1, FrameLocation location = FrameLocation::kDevice) {
    auto got = driver().create_frame(kDevice, location, page_ * pages);
    EXPECT_TRUE(got.is_ok()) << text(got.status());
    if (!got.is_ok()) return FrameId();
    frames_.push_back(got.value());
    return got.value();
  }
  void map(Address at, FrameId frame, std::uint64_t pages = 1) {
    ASSERT_STATUS_OK(driver().map(at, page_ * pages, frame));
    mapped_[at] = page_ * pages;
  }
  void unmap(Address at, std::uint64_t pages = 1) {
    ASSERT_STATUS_OK(driver().unmap(at, page_ * pages));
    mapped_.erase(mapped_.lower_bound(at), mapped_.lower_bound(at + page_ * pages));
  }
  void allow(Address at, std::uint64_t pages = 1) {
    // By the rules of the call, kNotReady is harmless and may be retried.
    Status status = driver().set_access(at, page_ * pages, kDevice);
    for (int i = 0; i < 100 && status.code() == Code::kNotReady; ++i) {
      status = driver().set_access(at, page_ * pages, kDevice);
    }
    ASSERT_STATUS_OK(status);
  }
  // Memory that work may use.
  Address memory(std::uint64_t pages = 1) {
    const Address at = range(pages);
    map(at, frame(pages), pages);
    allow(at, pages);
    return at;
  }
  StreamId stream() {
    auto got = driver().create_stream(kDevice);
    EXPECT_TRUE(got.is_ok()) << text(got.status());
    if (!got.is_ok()) return StreamId();
    streams_.push_back(got.value());
    return got.value();
  }
  EventId event() {
    auto got = driver().create_event(kDevice);
    EXPECT_TRUE(got.is_ok()) << text(got.status());
    if (!got.is_ok()) return EventId();
    events_.push_back(got.value());
    return got.value();
  }
  std::uint32_t* pinned(std::size_t count, std::uint32_t value) {
    host_.emplace_back(count, value);
    std::uint32_t* const host = host_.back().data();
    const Bytes bytes(count * sizeof(std::uint32_t));
    EXPECT_STATUS_OK(driver().register_host(host, bytes));
    pinned_[host] = bytes;
    return host;
  }

  Status churn(Address data, std::uint32_t count, std::uint32_t rounds, StreamId stream) {
    std::byte block[16];
    const std::uint64_t address = data.value();
    std::memcpy(block, &address, 8);
    std::memcpy(block + 8, &count, 4);
    std::memcpy(block + 12, &rounds, 4);
    const Launch launch{.kernel = machine_.churn_kernel(),
                        .grid = {(count + 127) / 128, 1, 1},
                        .block = {128, 1, 1},
                        .shared_bytes = 0,
                        .parameters = block};
    return driver().launch(launch, stream);
  }
  static Bytes words(std::size_t count) { return Bytes(count * sizeof(std::uint32_t)); }
  void put(Address to, const std::vector<std::uint32_t>& values, StreamId stream = StreamId(0)) {
    ASSERT_STATUS_OK(driver().copy_in(to, values.data(), words(values.size()), stream));
  }
  // The words at `from`, after all work of the stream.
  std::vector<std::uint32_t> get(Address from, std::size_t count, StreamId stream = StreamId(0)) {
    std::vector<std::uint32_t> values(count, 0xdeadbeefU);
    EXPECT_STATUS_OK(driver().copy_out(values.data(), from, words(count), stream));
    EXPECT_STATUS_OK(driver().synchronize(stream));
    return values;
  }

  Machine machine_;
  DeviceProperties properties_;
  Bytes page_;

  std::map<Address, Bytes> mapped_;
  std::map<Address, Bytes> ranges_;
  std::map<void*, Bytes> pinned_;
  std::vector<FrameId> frames_;
  std::vector<StreamId> streams_;
  std::vector<EventId> events_;
  std::vector<std::vector<std::uint32_t>> host_;
};

}  // namespace tessera::contract
