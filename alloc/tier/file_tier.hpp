// Frames in a private spill file; `value` of a frame is its offset.
//
// The file is nameless (O_TMPFILE, mode 0600), so nothing is left after any end of the process. A
// checksum is taken of every page written and verified on the way back; a mismatch is an error,
// never data (DESIGN §6.6).
//
// Space of frames that came back is used again first. It goes back to the file system in one piece
// when a lot of it has gathered, or by trim(): a hole punched per page would cost more than it
// frees.
//
// Thread safety: as tier.hpp says. Each ticket is polled or waited for by one thread.
//
// Invariants: those of tier.hpp; free units and units in frames add up to the capacity.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/mutex.hpp"
#include "base/extent_map.hpp"
#include "tier/checksum.hpp"
#include "tier/file_io.hpp"
#include "tier/tier.hpp"

namespace tessera {

// In place of `checksum_of` where memory is simulated.
using Checksum = std::function<std::uint64_t(const void* data, Bytes bytes)>;

class FileTier final : public Tier {
 public:
  // Errors: kIo with the directory and the reason. `capacity` zero makes a tier that is always
  // full and touches no directory.
  static Result<std::unique_ptr<FileTier>> open(const std::string& directory, Bytes capacity);
  // `io` may be null when `capacity` is zero. `checksum` is taken of what is written and read.
  FileTier(std::unique_ptr<FileIo> io, Bytes capacity, Checksum checksum = checksum_of);
  // REQUIRES: every frame came back and no transfer is in flight.
  ~FileTier() override;

  TierKind kind() const override { return TierKind::kFile; }
  Result<Frame> take(PageClass page_class) override;
  void give_back(Frame frame) override;
  TierUsage usage() const override;
  void trim() override;
  Status validate() const override;

  // Start moving one page. REQUIRES: as FileIo's; a frame has at most one transfer in flight.
  // Errors: FileIo's; kInvalidArgument for reading a frame that holds nothing.
  Result<IoTicket> write(const Frame& frame, const void* host);
  Result<IoTicket> read(const Frame& frame, void* host);
  // kNotReady, then once the outcome: OK, kIo, or kDataLoss when the bytes that came back are not
  // those that were written.
  Status poll(IoTicket ticket);
  Status wait(IoTicket ticket);

 private:
  struct Moving {
    bool writing = false;
    const void* host = nullptr;
    Bytes offset;
    Bytes bytes;
    std::uint64_t checksum = 0;  // of a write's bytes, or what a read must find
  };

  void note(IoTicket ticket, const Moving& moving);
  // Ends the transfer: what `outcome`, and for a read the bytes, make of it.
  Status finish(IoTicket ticket, Status outcome);
  void release_stale() REQUIRES_LOCK(mutex_);

  const std::unique_ptr<FileIo> io_;
  const Bytes capacity_;
  const Checksum checksum_;
  mutable Mutex mutex_{LockRank::kTier};
  ExtentMap free_ GUARDED_BY(mutex_);   // in base pages
  ExtentMap stale_ GUARDED_BY(mutex_);  // the part of it that still takes space on the disk
  Bytes used_ GUARDED_BY(mutex_);
  Bytes peak_used_ GUARDED_BY(mutex_);
  // By offset, for each frame that a write was started to: the checksum, once it was complete.
  std::unordered_map<std::uint64_t, std::optional<std::uint64_t>> contents_ GUARDED_BY(mutex_);
  std::unordered_map<IoTicket, Moving> moving_ GUARDED_BY(mutex_);
};

}  // namespace tessera
