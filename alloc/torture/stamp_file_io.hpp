// A disk in virtual time that carries stamps, and has disasters.
//
// Thread safety: none; virtual time has one thread.
//
// Invariants: what a failed or late transfer leaves is torn until somebody writes there again.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "tier/virtual_file_io.hpp"
#include "torture/stamp_memory.hpp"

namespace tessera {

enum class DiskTrouble : std::uint8_t {
  kNone,
  kRefuse,      // a transfer does not start: kIo
  kBusy,        // a transfer does not start now: kBusy
  kFail,        // a transfer ends with kIo, and half of it is done
  kShortWrite,  // a write says it succeeded, and half of it is done
  kFlip,        // a bit of what was written changes afterwards
  kLate,        // a transfer takes a second
  kFull,        // writes fail from now on
};
inline constexpr int kDiskTroubles = static_cast<int>(DiskTrouble::kFull);

const char* name_of(DiskTrouble trouble);

class StampFileIo final : public FileIo {
 public:
  // REQUIRES: both outlive it.
  StampFileIo(VirtualClock& clock, StampMemory& memory, LinkSpeed read, LinkSpeed write);

  // The nth transfer from now meets it; kNone ends a disk that is full. REQUIRES: nth > 0.
  void arm(DiskTrouble trouble, int nth);
  std::uint64_t struck() const { return struck_; }
  // Whether bytes on the disk were changed, so that losses may be reported.
  bool corrupted() const { return corrupted_; }
  // What the allocator did wrong, first of all.
  const std::optional<std::string>& violation() const { return violation_; }

  const char* name() const override { return "model"; }
  Result<IoTicket> read(void* host, Bytes bytes, Bytes offset) override;
  Result<IoTicket> write(const void* host, Bytes bytes, Bytes offset) override;
  Status poll(IoTicket ticket) override;
  Status wait(IoTicket ticket) override;
  Status discard(Bytes offset, Bytes bytes) override;

 private:
  struct Transfer {
    bool writing = false;
    Place host, disk;
    Bytes bytes;
    StampMemory::Contents seen;  // of a write's source
    DiskTrouble trouble = DiskTrouble::kNone;
    Nanoseconds not_before{};
  };

  DiskTrouble next_trouble(bool writing);
  Result<IoTicket> begin(Result<IoTicket> ticket, Transfer transfer);
  Status finish(IoTicket ticket, Status outcome);
  Status end_write(const Transfer& transfer);
  Status end_read(const Transfer& transfer);

  VirtualClock& clock_;
  StampMemory& memory_;
  VirtualFileIo disk_;
  DiskTrouble armed_ = DiskTrouble::kNone;
  int until_ = 0;  // transfers until it strikes
  bool full_ = false;
  bool corrupted_ = false;
  std::uint64_t struck_ = 0;
  std::unordered_map<IoTicket, Transfer> transfers_;
  std::optional<std::string> violation_;
};

}  // namespace tessera
