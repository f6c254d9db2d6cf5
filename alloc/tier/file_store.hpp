// The spill file of one directory: its space and its write failures.
//
// Space of returned frames is reused first. It goes back to the file system in one piece when much of it has
// accumulated, or by trim(): punching a hole per page would cost more than it frees. A file that failed a write gets no
// more bytes; what it holds can still be read.
//
// Thread safety: none; the file tier locks. `io` may be used without that lock.
//
// Invariants: free units and units in frames add up to the capacity.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/extent_map.hpp"
#include "base/page_class.hpp"
#include "base/status.hpp"
#include "tier/file_io.hpp"

namespace tessera {

class FileStore {
 public:
  // `first` is the start of its offsets within those of all files; `directory` is for messages.
  FileStore(std::unique_ptr<FileIo> io, Bytes first, Bytes capacity, std::string directory);

  FileIo& io() const { return *io_; }
  const std::string& directory() const { return directory_; }
  Bytes first() const { return first_; }
  Bytes capacity() const { return capacity_; }
  bool holds(Bytes place) const { return place >= first_ && place < first_ + capacity_; }

  // The place of a new frame; nothing where there is no room or writes are not allowed.
  std::optional<Bytes> take(Bytes bytes);
  void give_back(Bytes place, Bytes bytes, bool written);
  // Reports free space to the file system. If that fails, the space is still reused.
  void trim();

  Bytes used() const { return capacity_ - kBasePage * free_.free_count(); }
  Bytes spare() const { return kBasePage * stale_.free_count(); }
  Bytes room() const { return failed_ ? Bytes() : kBasePage * free_.free_count(); }

  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  // Bytes in flight in both directions.
  Bytes moving() const { return moving_; }
  void begin(Bytes bytes) { moving_ += bytes; }
  void end(Bytes bytes) { moving_ -= bytes; }

  Status validate() const;

 private:
  const std::unique_ptr<FileIo> io_;
  const Bytes first_;
  const Bytes capacity_;  // in whole base pages
  const std::string directory_;
  ExtentMap free_;   // in base pages
  ExtentMap stale_;  // the part of it that still occupies disk space
  Bytes moving_;
  bool failed_ = false;
};

}  // namespace tessera
