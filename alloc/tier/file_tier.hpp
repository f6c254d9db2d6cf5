// Frames in a private spill file; `value` of a frame is its offset.
//
// The file is nameless (O_TMPFILE, mode 0600), so nothing is left after any end of the process. A
// checksum is taken of every page written and verified on the way back; a mismatch is an error,
// never data (DESIGN §6.6).
//
// Thread safety: as tier.hpp says. Each ticket is polled or waited for by one thread.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "base/mutex.hpp"
#include "base/extent_map.hpp"
#include "tier/file_io.hpp"
#include "tier/tier.hpp"

namespace tessera {

class FileTier final : public Tier {
 public:
  // Errors: kIo with the directory and the reason. `capacity` zero makes a tier that is always
  // full and touches no directory.
  static Result<std::unique_ptr<FileTier>> open(const std::string& directory, Bytes capacity);
  FileTier(std::unique_ptr<FileIo> io, Bytes capacity);

  TierKind kind() const override { return TierKind::kFile; }
  Result<Frame> take(PageClass page_class) override;
  void give_back(Frame frame) override;
  TierUsage usage() const override;
  void trim() override {}
  Status validate() const override;

  // Start moving one page; REQUIRES as FileIo's. A frame has at most one transfer in flight.
  Result<IoTicket> write(const Frame& frame, const void* host);
  Result<IoTicket> read(const Frame& frame, void* host);
  // kNotReady, then once the outcome: OK, kIo, or kDataLoss when the bytes that came back are not
  // those that were written.
  Status poll(IoTicket ticket);
  Status wait(IoTicket ticket);

 private:
  struct Reading {
    const void* host;
    Bytes offset;
    Bytes bytes;
  };
  Status verify(IoTicket ticket, Status outcome);

  const std::unique_ptr<FileIo> io_;
  const Bytes capacity_;
  mutable Mutex mutex_{LockRank::kTier};
  ExtentMap free_ GUARDED_BY(mutex_);
  Bytes used_ GUARDED_BY(mutex_);
  Bytes peak_used_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, std::uint64_t> checksums_ GUARDED_BY(mutex_);  // by offset
  std::unordered_map<IoTicket, Reading> readings_ GUARDED_BY(mutex_);
};

}  // namespace tessera
