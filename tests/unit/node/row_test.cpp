#include "node/row.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

namespace tessera {
namespace {

using File = std::vector<std::byte>;

LedgerRow some_row() {
  LedgerRow row;
  row.pid = 4711;
  row.weight = 3;
  row.started = 99;
  std::memcpy(row.name.data(), "python3", 7);
  row.of(NodeResource::kHostMemory) = {1 << 20, 2 << 20};
  seal(row);
  return row;
}

void put(File& file, std::size_t offset, const auto& record) { std::memcpy(&file[offset], &record, sizeof(record)); }

File some_file() {
  File file(kLedgerBytes);
  LedgerHeader header;
  header.budgets = {1'000'000, 2'000'000, 3'000'000};
  header.spent_writes = 7;
  seal(header);
  put(file, 0, header);
  put(file, row_offset(5), some_row());
  return file;
}

TEST(Rows, WhatWasWrittenIsRead) {
  const File file = some_file();
  const auto header = read_header(file);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->budget(NodeResource::kFile), Bytes(2'000'000));
  const auto row = read_row(file, 5);
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->process(), (ProcessId{4711, 99, 0}));
  EXPECT_EQ(row->of(NodeResource::kHostMemory).wanted, 2U << 20);
  for (std::size_t i = 0; i < kLedgerRows; ++i) EXPECT_EQ(read_row(file, i).has_value(), i == 5);
}

TEST(Rows, ARowDoesNotCrossAPage) {
  for (std::size_t i = 0; i < kLedgerRows; ++i) {
    EXPECT_EQ(row_offset(i) / kLedgerPage, (row_offset(i) + sizeof(LedgerRow) - 1) / kLedgerPage);
  }
}

TEST(Rows, AnyFlippedBitIsNoticed) {
  const File file = some_file();
  const auto unreadable = [&](std::size_t begin, std::size_t bytes, const std::function<bool(const File&)>& reads) {
    for (std::size_t bit = 0; bit < bytes * 8; ++bit) {
      File changed = file;
      changed[begin + bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      if (reads(changed)) return false;
    }
    return true;
  };
  EXPECT_TRUE(unreadable(0, sizeof(LedgerHeader), [](const File& f) { return read_header(f).has_value(); }));
  EXPECT_TRUE(unreadable(row_offset(5), sizeof(LedgerRow), [](const File& f) { return read_row(f, 5).has_value(); }));
}

TEST(Rows, AShortFileReadsAsZeros) {
  const File file = some_file();
  for (std::size_t size : {std::size_t{0}, std::size_t{7}, sizeof(LedgerHeader) - 8}) {
    EXPECT_FALSE(read_header(std::span(file).first(size)).has_value());
  }
  EXPECT_TRUE(read_header(std::span(file).first(sizeof(LedgerHeader))).has_value());
  EXPECT_FALSE(read_row(std::span(file).first(row_offset(5) + 40), 5).has_value());
  EXPECT_FALSE(read_row(std::span(file).first(row_offset(5)), 5).has_value());
}

// Values that a sealed row must not have.
TEST(Rows, ImpossibleValuesAreRefused) {
  const std::vector<std::function<void(LedgerRow&)>> changes = {
      [](LedgerRow& row) { row.pid = -1; },
      [](LedgerRow& row) { row.weight = 0; },
      [](LedgerRow& row) { row.weight = kMostWeight + 1; },
      [](LedgerRow& row) { row.name[0] = '\n'; },
      [](LedgerRow& row) { row.name[12] = 'x'; },
      [](LedgerRow& row) { row.job_name[3] = '\x1b'; },
      [](LedgerRow& row) { row.of(NodeResource::kFile).held = kMostNodeBytes.value() + 1; },
      [](LedgerRow& row) { row.of(NodeResource::kHostMemory).wanted = ~std::uint64_t{0}; },
  };
  for (const auto& change : changes) {
    File file = some_file();
    LedgerRow row = some_row();
    change(row);
    seal(row);
    put(file, row_offset(5), row);
    EXPECT_FALSE(read_row(file, 5).has_value()) << &change - changes.data();
  }
  LedgerHeader too_large, too_much_spent;
  too_large.budgets = {kMostNodeBytes.value() + 1, 0};
  too_much_spent.spent_writes = kMostNodeBytes.value() + 1;
  for (LedgerHeader header : {too_large, too_much_spent}) {
    File file = some_file();
    seal(header);
    put(file, 0, header);
    EXPECT_FALSE(read_header(file).has_value());
  }
}

TEST(Rows, RandomBytesAreNoLedger) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    File file(random() % (kLedgerBytes + 1));
    for (std::byte& byte : file) byte = static_cast<std::byte>(random());
    EXPECT_FALSE(read_header(file).has_value());
    for (std::size_t i = 0; i < kLedgerRows; ++i) EXPECT_FALSE(read_row(file, i).has_value());
  }
}

}  // namespace
}  // namespace tessera
