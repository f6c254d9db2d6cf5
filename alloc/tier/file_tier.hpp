// Frames in private spill files, one in each directory; `value` of a frame is its place: the files' offsets,
// one file after the other.
//
// The files are nameless (O_TMPFILE, mode 0600), so nothing is left after any end of the process. A
// checksum is taken of every page written and verified on the way back; a mismatch is an error,
// never data (DESIGN §6.6).
//
// Frames go to the file that has the least under way, in turn where that is equal, so that several disks
// work together. A file that fails to write gets no more, and is said once; the others go on. When the
// bytes written reach the write budget, nothing is written any more: disks wear out.
//
// Thread safety: as tier.hpp says. Each ticket is polled or waited for by one thread.
//
// Invariants: those of tier.hpp; those of each file (file_store.hpp).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "tier/checksum.hpp"
#include "tier/file_store.hpp"
#include "tier/tier.hpp"

namespace tessera {

// In place of `checksum_of` where memory is simulated.
using Checksum = std::function<std::uint64_t(const void* data, Bytes bytes)>;

// A directory, or one simulated, and how much may lie there.
struct FileSpace {
  std::string directory;
  Bytes capacity;
  std::unique_ptr<FileIo> io{};
};

inline constexpr Bytes kNoWriteBudget{~std::uint64_t{0}};

class FileTier final : public Tier {
 public:
  // Makes a file in each of the directories; one that cannot be used is said and left out. A capacity of
  // less than a page touches no directory, and a tier without any is always full. Errors: kIo with
  // directory and reason when there are some and none can be used.
  static Result<std::unique_ptr<FileTier>> open(std::vector<FileSpace> spaces,
                                                Bytes write_budget = kNoWriteBudget);
  static Result<std::unique_ptr<FileTier>> open(const std::string& directory, Bytes capacity);
  // REQUIRES: every space has an io. `checksum` is taken of what is written and read.
  explicit FileTier(std::vector<FileSpace> spaces, Bytes write_budget = kNoWriteBudget,
                    Checksum checksum = checksum_of);
  // Of one file. `io` may be null when `capacity` is zero.
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

  // Whether any file still takes writes; once it does not, it never will again.
  bool takes_writes() const;
  // Whether that is because the write budget is used up.
  bool is_spent() const;
  // The most that frames which hold something can come to.
  Bytes reach() const;
  // What moves the bytes (FileIo::name), each word once; "" without files.
  std::string io_names() const;
  // See FileIo.
  void attach(void* start, Bytes bytes);
  void detach(void* start);

 private:
  struct Moving {
    FileStore* file = nullptr;
    IoTicket ticket{};  // the file's own
    bool writing = false;
    const void* host = nullptr;
    Bytes place;
    Bytes bytes;
    std::uint64_t checksum = 0;  // of a write's bytes, or what a read must find
  };

  FileStore& file_of(Bytes place) const REQUIRES_LOCK(mutex_);
  std::optional<Bytes> take_place(Bytes bytes) REQUIRES_LOCK(mutex_);
  bool allow_write(Bytes bytes) REQUIRES_LOCK(mutex_);
  IoTicket note(const Moving& moving);
  // What is under way by that name; nothing if it is unknown.
  std::optional<Moving> find(IoTicket ticket) const;
  // Ends the transfer: what `outcome`, and for a read the bytes, make of it.
  Status finish(IoTicket ticket, const Moving& moving, Status outcome);
  Status no_such(IoTicket ticket) const;

  const Checksum checksum_;
  const Bytes write_budget_;
  mutable Mutex mutex_{LockRank::kTier};
  // None comes or goes, so their io may be used without the lock; the rest of them is guarded by it.
  std::vector<std::unique_ptr<FileStore>> files_;
  std::size_t turn_ GUARDED_BY(mutex_) = 0;
  Bytes capacity_ GUARDED_BY(mutex_);
  Bytes used_ GUARDED_BY(mutex_);
  Bytes peak_used_ GUARDED_BY(mutex_);
  Bytes written_ GUARDED_BY(mutex_);  // since the start
  bool spent_ GUARDED_BY(mutex_) = false;  // the write budget is, and that was said
  std::uint64_t last_ticket_ GUARDED_BY(mutex_) = 0;
  // By place, for each frame that a write was started to: the checksum, once it was complete.
  std::unordered_map<std::uint64_t, std::optional<std::uint64_t>> contents_ GUARDED_BY(mutex_);
  std::unordered_map<IoTicket, Moving> moving_ GUARDED_BY(mutex_);
};

}  // namespace tessera
