// Records what a program asks for, one JSON object per line: the format of DESIGN §8.
//
// Each line is in the file when its call returns, so a trace tells of a crash up to the call before it
// (appended_file.hpp). A pipe gets pieces: when one is full, at each mark, and when the last one is 100 ms old.
// The file is bounded; at its limit, or when the disk refuses, recording ends with one line on standard
// error and the program goes on.
//
// Beside the keys of the format each line has "at": nanoseconds since the trace began.
//
// Thread safety: every call may be made from any thread; lines never mix.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "base/units.hpp"
#include "observe/appended_file.hpp"

namespace tessera {

class TraceWriter {
 public:
  static constexpr Bytes kDefaultLimit = 4_GiB;

  struct Header {
    std::string name;         // the program's
    Bytes device_memory;      // the budget it ran with
  };

  // As OutputFile::open.
  static Result<std::unique_ptr<TraceWriter>> open(const std::string& path, const Header& header,
                                                   const Clock& clock,
                                                   Bytes limit = kDefaultLimit,
                                                   OutputFile::Left left = OutputFile::Left::kReplace);
  void alloc(std::uint64_t id, Bytes bytes, StreamId stream, std::string_view tag, DeviceId device);
  // Work on a stream. Blocks by their ids; one that is read and written is in both.
  void op(std::string_view name, StreamId stream, DeviceId device,
          std::span<const std::uint64_t> reads, std::span<const std::uint64_t> writes);
  // Operations of a name on so many blocks, which have so many bytes together.
  struct OpKind {
    std::string name;
    std::size_t blocks = 0;
    Bytes bytes;
    DeviceId device;
  };
  // One of them took so long.
  void took(const OpKind& kind, Nanoseconds time);
  void mark(std::string_view kind, std::uint64_t number);
  void free(std::uint64_t id);
  // What the block holds now can be remade in so long; 0 = not any more.
  void remakable(std::uint64_t id, Nanoseconds time);

  // The file is whole until the next line. Errors: kIo, also of an earlier line: the trace ends there.
  Status flush();

 private:
  TraceWriter(std::unique_ptr<AppendedFile> file, std::string path, const Clock& clock, Bytes limit);
  std::string line_of(const char* kind) const;
  void append(const std::string& line, bool push_now);
  void fail(Status why) REQUIRES_LOCK(mutex_);

  const std::string path_;
  const Clock& clock_;
  const Nanoseconds start_;
  const Bytes limit_;
  Mutex mutex_{LockRank::kObserve};
  const std::unique_ptr<AppendedFile> file_ GUARDED_BY(mutex_);
  Nanoseconds last_push_ GUARDED_BY(mutex_);
  Status failure_ GUARDED_BY(mutex_);
};

}  // namespace tessera
