// A disk in virtual time that carries stamps and injects faults.
//
// Thread safety: none; virtual time has one thread.
//
// Invariants: after a failed or late transfer the bytes are torn until they are written again.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "lab/fuzz/stamp_memory.hpp"
#include "sim/virtual_file_io.hpp"

namespace tessera {

enum class DiskFault : std::uint8_t {
  kNone,
  kRefuse,      // a transfer does not start: kIo
  kBusy,        // a transfer does not start now: kBusy
  kFail,        // a transfer ends with kIo, half done
  kShortWrite,  // a write reports success, half done
  kFlip,        // a written bit changes afterwards
  kLate,        // a transfer takes a second
  kFull,        // writes fail from now on
};
inline constexpr int kDiskFaults = static_cast<int>(DiskFault::kFull);

const char* name_of(DiskFault fault);

class StampFileIo final : public FileIo {
 public:
  // REQUIRES: both outlive it.
  StampFileIo(VirtualClock& clock, StampMemory& memory, LinkSpeed read, LinkSpeed write);

  // Applies the fault to the nth transfer from now; kNone ends a full disk. REQUIRES: nth > 0.
  void arm(DiskFault fault, int nth);
  std::uint64_t struck() const { return struck_; }
  // Whether bytes on the disk were changed, so that data losses may be reported.
  bool corrupted() const { return corrupted_; }
  // The first mistake of the allocator.
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
    DiskFault fault = DiskFault::kNone;
    Nanoseconds not_before{};
  };

  DiskFault next_fault(bool writing);
  Result<IoTicket> begin(Result<IoTicket> ticket, Transfer transfer);
  Status finish(IoTicket ticket, Status outcome);
  Status end_write(const Transfer& transfer);
  Status end_read(const Transfer& transfer);

  VirtualClock& clock_;
  StampMemory& memory_;
  VirtualFileIo disk_;
  DiskFault armed_ = DiskFault::kNone;
  int until_ = 0;  // transfers until the armed fault
  bool full_ = false;
  bool corrupted_ = false;
  std::uint64_t struck_ = 0;
  std::unordered_map<IoTicket, Transfer> transfers_;
  std::optional<std::string> violation_;
};

}  // namespace tessera
