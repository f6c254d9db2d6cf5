// A ledger in a folder of its own, programs of this process and of others that use it, and its rows as they are in the
// file.
//
// Thread safety: a test fixture.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "node/ledger.hpp"

namespace tessera {

// Ends the process before the call with number `last`, counted from 1 over all calls.
class KilledLedgerFile final : public LedgerFile {
 public:
  KilledLedgerFile(std::unique_ptr<LedgerFile> file, int last) : file_(std::move(file)), left_(last) {}

  Status lock(std::chrono::milliseconds patience) override {
    step();
    return file_->lock(patience);
  }
  Result<std::size_t> read(std::span<std::byte> into) override {
    step();
    return file_->read(into);
  }
  Status write(std::size_t offset, std::span<const std::byte> bytes) override {
    step();
    return file_->write(offset, bytes);
  }
  Status remove() override {
    step();
    return file_->remove();
  }
  void unlock() override {
    step();
    file_->unlock();
  }

 private:
  void step() {
    if (--left_ == 0) ::raise(SIGKILL);
  }

  const std::unique_ptr<LedgerFile> file_;
  int left_;
};

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() { std::filesystem::create_directories(folder_); }
  ~LedgerTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return fmt::format("{}/tessera-{}/{}", folder_, ::geteuid(), ledger_file_name(kName)); }
  std::unique_ptr<LedgerFile> open() const { return open_ledger_file({folder_}, kName).take(); }
  std::unique_ptr<Ledger> join(std::uint32_t weight = 1, NodeBudgets budgets = {Bytes(1000), Bytes(500)}) {
    return join(open(), weight, budgets);
  }
  std::unique_ptr<Ledger> join(std::unique_ptr<LedgerFile> file, std::uint32_t weight = 1,
                               NodeBudgets budgets = {Bytes(1000), Bytes(500)}) {
    return std::make_unique<Ledger>(std::move(file), clock_, Ledger::Self{this_process(), weight, "a test"}, budgets);
  }
  std::unique_ptr<Ledger> join_job(const std::string& job) {
    return std::make_unique<Ledger>(open(), clock_, Ledger::Self{this_process(), 1, "a test", job},
                                    NodeBudgets{Bytes(1000), Bytes(500)});
  }
  // Holds as much in the books, whatever is free.
  static Status hold(Ledger& ledger, Bytes bytes) {
    return ledger.transact([bytes](Books& books) {
      books.own_row().of(NodeResource::kHostMemory) = {bytes.value(), bytes.value()};
    });
  }
  // The valid rows of the file, also those of processes that have ended.
  std::vector<LedgerRow> rows() const {
    const auto file = open();
    std::vector<std::byte> bytes(kLedgerBytes);
    if (!file->lock(std::chrono::seconds(60)).is_ok()) return {};
    const auto size = file->read(bytes);
    file->unlock();
    std::vector<LedgerRow> rows;
    for (std::size_t i = 0; size.is_ok() && i < kLedgerRows; ++i) {
      if (const auto row = read_row(std::span(bytes).first(size.value()), i)) rows.push_back(*row);
    }
    return rows;
  }
  static Books books_of(Ledger& ledger) {
    Books seen;
    const Status looked = ledger.transact([&seen](Books& books) { seen = books; });
    EXPECT_TRUE(looked.is_ok()) << looked.to_string();
    return seen;
  }
  // A child of fork that runs the body and exits, unless it is killed before.
  static pid_t start(const std::function<void()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      body();
      ::_exit(EXIT_SUCCESS);
    }
    EXPECT_GT(child, 0);
    return child;
  }

  static constexpr const char* kName = "default";
  const std::string folder_ = ::testing::TempDir() + fmt::format("ledger_{}", ::getpid());
  SteadyClock clock_;
};

}  // namespace tessera
