// Records what a program asks for, one JSON object per line: the format of DESIGN §8.
//
// The trace is written while the program runs, in pieces, so that most of it survives a crash: a
// piece goes out when the buffer is full, at each mark, and when the last one is 100 ms old. The
// file is bounded; at its limit, or when the disk refuses, recording ends with one line on standard
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

namespace tessera {

class TraceWriter {
 public:
  static constexpr Bytes kDefaultLimit = 4_GiB;

  struct Header {
    std::string name;         // the program's
    Bytes device_memory;      // the budget it ran with
  };

  // Creates or replaces `path`, mode 0600. Errors: kIo with the path and the reason.
  static Result<std::unique_ptr<TraceWriter>> open(const std::string& path, const Header& header,
                                                   const Clock& clock,
                                                   Bytes limit = kDefaultLimit);
  // Writes what is buffered.
  ~TraceWriter();

  void alloc(std::uint64_t id, Bytes bytes, StreamId stream, std::string_view tag, DeviceId device);
  // Work on a stream. Blocks by their ids; one that is read and written is in both.
  void op(std::string_view name, StreamId stream, DeviceId device,
          std::span<const std::uint64_t> reads, std::span<const std::uint64_t> writes);
  void mark(std::string_view kind, std::uint64_t number);
  void free(std::uint64_t id);
  // What the block holds now can be remade in so long; 0 = not any more.
  void remakable(std::uint64_t id, Nanoseconds time);

  // Errors: kIo, also of an earlier piece: the trace ends there.
  Status flush();

 private:
  TraceWriter(int file, std::string path, const Clock& clock, Bytes limit);
  std::string line_of(const char* kind) const;
  void append(const std::string& line, bool flush_now);
  void write_buffer() REQUIRES_LOCK(mutex_);

  const int file_;
  const std::string path_;
  const Clock& clock_;
  const Nanoseconds start_;
  const Bytes limit_;
  Mutex mutex_{LockRank::kObserve};
  std::string buffer_ GUARDED_BY(mutex_);
  Bytes written_ GUARDED_BY(mutex_);
  Nanoseconds last_write_ GUARDED_BY(mutex_);
  Status failure_ GUARDED_BY(mutex_);
};

}  // namespace tessera
