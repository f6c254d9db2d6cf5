// A spill file in memory, with transfers that complete and fail under control of the test.
//
// A transfer moves its bytes when it completes, not when it starts, so that memory released too early shows as wrong
// bytes. A file uses the memory of those that the thread had before: to get pages from the system takes longer than to
// fill them.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "base/mutex.hpp"
#include "tier/file_io.hpp"

namespace tessera {

class MemoryFile final : public FileIo {
 public:
  // The first `polls` polls of each transfer return "not ready"; wait() always completes it.
  explicit MemoryFile(std::uint32_t polls = 1) : polls_(polls) { spare_.swap(left()); }
  ~MemoryFile() override {
    const MutexLock lock(mutex_);
    for (auto& [offset, bytes] : contents_) spare_.push_back(std::move(bytes));
    std::size_t kept = 0;
    for (Piece& piece : spare_) {
      kept += piece.capacity();
      if (kept <= kMostKept) left().push_back(std::move(piece));
    }
  }

  // From now on writes complete with this outcome; OK repairs the file.
  void set_write_outcome(Status outcome) {
    const MutexLock lock(mutex_);
    write_outcome_ = std::move(outcome);
  }
  void set_read_outcome(Status outcome) {
    const MutexLock lock(mutex_);
    read_outcome_ = std::move(outcome);
  }
  // Flips a bit in every piece of the file.
  void corrupt() {
    const MutexLock lock(mutex_);
    for (auto& [offset, bytes] : contents_) bytes.front() ^= 1;
  }

  const char* name() const override { return "test"; }
  Result<IoTicket> read(void* host, Bytes bytes, Bytes offset) override {
    return start({false, host, bytes, offset, polls_});
  }
  Result<IoTicket> write(const void* host, Bytes bytes, Bytes offset) override {
    return start({true, const_cast<void*>(host), bytes, offset, polls_});
  }
  Status poll(IoTicket ticket) override { return finish(ticket, false); }
  Status wait(IoTicket ticket) override { return finish(ticket, true); }
  Status discard(Bytes, Bytes) override { return {}; }

 private:
  struct Transfer {
    bool writing;
    void* host;
    Bytes bytes;
    Bytes offset;
    std::uint32_t polls;
  };

  using Piece = std::vector<unsigned char>;
  static constexpr std::size_t kMostKept = std::size_t{64} << 20;
  static std::vector<Piece>& left() {
    thread_local std::vector<Piece> pieces;
    return pieces;
  }

  Result<IoTicket> start(const Transfer& transfer) {
    const MutexLock lock(mutex_);
    const IoTicket ticket(++last_);
    transfers_.emplace(ticket, transfer);
    return ticket;
  }

  Status finish(IoTicket ticket, bool wait) {
    const MutexLock lock(mutex_);
    const auto found = transfers_.find(ticket);
    if (found == transfers_.end()) return Status(Code::kInternal, "no such transfer");
    Transfer& transfer = found->second;
    if (!wait && transfer.polls-- > 0) return Status(Code::kNotReady, "requested by the test");
    const Transfer done = transfer;
    transfers_.erase(found);
    const Status& outcome = done.writing ? write_outcome_ : read_outcome_;
    if (!outcome.is_ok()) return outcome;
    const auto [at, is_new] = contents_.try_emplace(done.offset.value());
    Piece& bytes = at->second;
    if (is_new && !spare_.empty()) {
      bytes = std::move(spare_.back());
      bytes.clear();
      spare_.pop_back();
    }
    if (done.writing) {
      const auto* const from = static_cast<const unsigned char*>(done.host);
      bytes.assign(from, from + done.bytes.value());
    } else {
      bytes.resize(done.bytes.value());
      std::memcpy(done.host, bytes.data(), bytes.size());
    }
    return {};
  }

  const std::uint32_t polls_;
  Mutex mutex_{LockRank::kTier};
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  Status write_outcome_ GUARDED_BY(mutex_);
  Status read_outcome_ GUARDED_BY(mutex_);
  std::map<IoTicket, Transfer> transfers_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, Piece> contents_ GUARDED_BY(mutex_);  // by offset
  std::vector<Piece> spare_ GUARDED_BY(mutex_);
};

}  // namespace tessera
