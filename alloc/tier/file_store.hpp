// The spill file of one directory: its space, and what came of writing to it.
//
// Space of frames that came back is used again first. It goes back to the file system in one piece
// when a lot of it has gathered, or by trim(): a hole punched per page would cost more than it
// frees. A file that refused a write is not trusted with more bytes; what it holds can be read.
//
// Thread safety: none; the file tier locks. `io` may be used beside it.
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
  // `first` is where its offsets begin among those of all files; `directory` is for messages.
  FileStore(std::unique_ptr<FileIo> io, Bytes first, Bytes capacity, std::string directory);

  FileIo& io() const { return *io_; }
  const std::string& directory() const { return directory_; }
  Bytes first() const { return first_; }
  Bytes capacity() const { return capacity_; }
  bool holds(Bytes place) const { return place >= first_ && place < first_ + capacity_; }

  // The place of a new frame; nothing where there is no room, or nothing may be written.
  std::optional<Bytes> take(Bytes bytes);
  void give_back(Bytes place, Bytes bytes, bool written);
  // Tells the file system that free space is free. Where it cannot know, the space is used again.
  void trim();

  Bytes used() const { return capacity_ - kBasePage * free_.free_count(); }
  Bytes spare() const { return kBasePage * stale_.free_count(); }
  Bytes room() const { return failed_ ? Bytes() : kBasePage * free_.free_count(); }

  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  // Bytes under way in either direction.
  Bytes moving() const { return moving_; }
  void begin(Bytes bytes) { moving_ += bytes; }
  void end(Bytes bytes) { moving_ -= bytes; }

  Status validate() const;

 private:
  const std::unique_ptr<FileIo> io_;
  const Bytes first_;
  const Bytes capacity_;  // in whole base pages
  const std::string directory_;
  ExtentMap free_;        // in base pages
  ExtentMap stale_;       // the part of it that still takes space on the disk
  Bytes moving_;
  bool failed_ = false;
};

}  // namespace tessera
