// Frames in private spill files, one per directory; `value` of a frame is its place: the offsets of all files, one file
// after the other.
//
// The files are nameless (O_TMPFILE, mode 0600), so nothing is left after any end of the process. A checksum is
// computed for every page written and verified when it is read; a mismatch is an error, never data.
//
// A frame goes to the file with the fewest bytes in flight, in turn among equals, so that several disks work in
// parallel. A file that fails a write gets no more writes, and is logged once; the others continue. When the bytes
// written reach the write budget, all writes end, since writes wear out a disk.
//
// Thread safety: as in tier.hpp. Each ticket is polled or waited for by one thread.
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
#include "tier/file_lease.hpp"
#include "tier/file_store.hpp"
#include "tier/tier.hpp"

namespace tessera {

// Replaces `checksum_of` where memory is simulated.
using Checksum = std::function<std::uint64_t(const void* data, Bytes bytes)>;

// A directory, real or simulated, and how much it may hold.
struct FileSpace {
  std::string directory;
  Bytes capacity;
  std::unique_ptr<FileIo> io{};
};

inline constexpr Bytes kNoWriteBudget{~std::uint64_t{0}};

class FileTier final : public Tier {
 public:
  // Makes a file in each of the directories; one that cannot be used is logged and left out. A capacity of less than a
  // page touches no directory; a tier without files is always full. Errors: kIo with directory and reason when
  // directories are given and none can be used.
  static Result<std::unique_ptr<FileTier>> open(std::vector<FileSpace> spaces, Bytes write_budget = kNoWriteBudget);
  static Result<std::unique_ptr<FileTier>> open(const std::string& directory, Bytes capacity);
  // REQUIRES: every space has an io. `checksum` is computed for writes and reads.
  explicit FileTier(std::vector<FileSpace> spaces, Bytes write_budget = kNoWriteBudget,
                    Checksum checksum = checksum_of);
  // A tier without files; trouble() returns `why`.
  static std::unique_ptr<FileTier> none(std::string why);
  // A tier of one file. `io` may be null when `capacity` is zero.
  FileTier(std::unique_ptr<FileIo> io, Bytes capacity, Checksum checksum = checksum_of);
  // REQUIRES: every frame was given back, and no transfer is in flight.
  ~FileTier() override;

  // From now on what the files occupy and what is written is covered by the lease, and frames take at most `most`.
  // REQUIRES: `lease` outlives every other call; no frame was taken.
  void share(FileLease& lease, Bytes most);

  Location location() const override { return Location::kFile; }
  Result<Frame> take(PageClass page_class) override;
  void give_back(Frame frame) override;
  TierUsage usage() const override;
  void trim() override;
  Status validate() const override;

  // Start moving one page. REQUIRES: as FileIo; a frame has at most one transfer in flight. Errors: as FileIo;
  // kInvalidArgument for reading a frame without contents.
  Result<IoTicket> write(const Frame& frame, const void* host);
  Result<IoTicket> read(const Frame& frame, void* host);
  // kNotReady, then exactly once the outcome: OK, kIo, or kDataLoss when the bytes read differ from those written.
  Status poll(IoTicket ticket);
  Status wait(IoTicket ticket);

  // Whether any file still accepts writes; once false, it stays false.
  bool takes_writes() const;
  // Whether writes ended because the write budget is used up.
  bool is_spent() const;
  // Why there is no file, or why one is not written any more; "" if neither is the case.
  std::string trouble() const;
  // The maximum bytes of frames with contents: less than the capacity once a file is not written any more.
  Bytes reach() const;
  // The mechanisms that move the bytes (FileIo::name), each word once; "" without files.
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
    std::uint64_t checksum = 0;  // of the bytes written, or what a read must find
  };

  FileStore& file_of(Bytes place) const REQUIRES_LOCK(mutex_);
  std::optional<Bytes> take_place(Bytes bytes) REQUIRES_LOCK(mutex_);
  bool allow_write(Bytes bytes) REQUIRES_LOCK(mutex_);
  bool cover(Bytes bytes) REQUIRES_LOCK(mutex_);
  void uncover() REQUIRES_LOCK(mutex_);
  Bytes on_disk() const REQUIRES_LOCK(mutex_);
  IoTicket note(const Moving& moving);
  // The transfer in flight with that ticket; nothing if unknown.
  std::optional<Moving> find(IoTicket ticket) const;
  // Ends the transfer: its status from `outcome` and, for a read, from the checksum.
  Status finish(IoTicket ticket, const Moving& moving, Status outcome);
  Status no_such(IoTicket ticket) const;

  const Checksum checksum_;
  const Bytes write_budget_;
  mutable Mutex mutex_{LockRank::kTier};
  // Fixed after construction, so their io may be used without the lock, which guards the rest of them.
  std::vector<std::unique_ptr<FileStore>> files_;
  std::size_t turn_ GUARDED_BY(mutex_) = 0;
  FileLease* lease_ GUARDED_BY(mutex_) = nullptr;  // null: nothing is shared
  Bytes covered_ GUARDED_BY(mutex_);               // by the lease: what the files occupy
  Bytes capacity_ GUARDED_BY(mutex_);              // of frames
  Bytes used_ GUARDED_BY(mutex_);
  Bytes peak_used_ GUARDED_BY(mutex_);
  Bytes written_ GUARDED_BY(mutex_);       // since the start
  bool spent_ GUARDED_BY(mutex_) = false;  // the write budget is used up, and this was logged
  std::string trouble_ GUARDED_BY(mutex_);
  std::uint64_t last_ticket_ GUARDED_BY(mutex_) = 0;
  // By place, for each frame to which a write was started: the checksum, once the write is complete.
  std::unordered_map<std::uint64_t, std::optional<std::uint64_t>> contents_ GUARDED_BY(mutex_);
  std::unordered_map<IoTicket, Moving> moving_ GUARDED_BY(mutex_);
};

}  // namespace tessera
