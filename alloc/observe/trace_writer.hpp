// Records what a program requests, one JSON object per line, in the format of docs/traces.md.
//
// Each line is in the file when its call returns, so after a crash the trace is complete up to the last call
// (appended_file.hpp). A pipe gets pieces: when one is full, at each mark, and when the last one is 100 ms old.
// The size is bounded: at the limit, or on a disk error, recording ends with one line on standard error and the
// program goes on.
//
// In addition to the format's own keys each line has "at": nanoseconds since the trace began.
//
// Thread safety: all functions may be called from any thread; lines never mix.
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
    std::string name;     // of the program
    Bytes device_memory;  // the budget it ran with
  };

  // Same contract as OutputFile::open.
  static Result<std::unique_ptr<TraceWriter>> open(const std::string& path, const Header& header, const Clock& clock,
                                                   Bytes limit = kDefaultLimit,
                                                   OutputFile::Left left = OutputFile::Left::kReplace);
  void alloc(std::uint64_t id, Bytes bytes, StreamId stream, std::string_view tag, DeviceId device);
  // A block by id, or these bytes of it; 0 bytes: all of it.
  struct Operand {
    std::uint64_t id = 0;
    Bytes offset{}, bytes{};
    bool operator==(const Operand&) const = default;
  };
  // An operation on a stream. A block that is read and written is in both lists.
  void op(std::string_view name, StreamId stream, DeviceId device, std::span<const Operand> reads,
          std::span<const Operand> writes);
  // A kind of operation: a name, the number of blocks, and their total bytes.
  struct OpKind {
    std::string name;
    std::size_t blocks = 0;
    Bytes bytes;
    DeviceId device;
  };
  // Records that an operation of this kind took `time`.
  void took(const OpKind& kind, Nanoseconds time);
  void mark(std::string_view kind, std::uint64_t number);
  void free(std::uint64_t id);
  // The block's current contents can be recomputed in `time`; 0 means no longer.
  void remakable(std::uint64_t id, Nanoseconds time);

  // Makes the file complete up to here. Errors: kIo, also from an earlier line, at which the trace ended.
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
