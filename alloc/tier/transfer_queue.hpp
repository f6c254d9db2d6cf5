// The transfers of one spill file, cut into chunks: what every real FileIo keeps, whoever carries the chunks out.
//
// Why chunks: a disk reaches its speed with several requests in flight, and one page alone should reach it
// too. Each direction has a queue and a depth of its own (queue_depth.hpp), so that reads never wait behind
// writes.
//
// Thread safety: none; the owner locks.
//
// Invariants: a chunk is in one place: not issued, in flight, or done; at most FileIo::kMaxTransfers transfers exist.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.hpp"
#include "tier/file_io.hpp"
#include "tier/queue_depth.hpp"

namespace tessera {

// A part of a transfer that is one request, and how much of it is done.
struct Chunk {
  IoTicket ticket{};
  bool writing = false;
  std::byte* host = nullptr;
  Bytes offset{};  // in the file
  Bytes bytes{};
  Bytes done{};
  Nanoseconds issued{};

  std::byte* next_host() const { return host + done.value(); }
  Bytes next_offset() const { return offset + done; }
  Bytes left() const { return bytes - done; }
  // Takes the answer of a request into account, in whole blocks. False when it did not get on.
  bool advance(std::uint64_t moved);
};

// In place of an error number: a read beyond the end of the file.
inline constexpr int kFileEnds = -1;

class TransferQueue {
 public:
  // What O_DIRECT wants of every address, length and offset.
  static constexpr Bytes kBlock = 4_KiB;
  static constexpr Bytes kChunk = 1_MiB;

  // `directory` is for messages; `depth` is that of each direction. REQUIRES: `clock` outlives it.
  TransferQueue(std::string directory, const Clock& clock, const QueueDepth& depth = QueueDepth());

  // As FileIo's read and write. Errors: kBusy; kInvalidArgument for what is not in whole blocks.
  Result<IoTicket> start(bool writing, void* host, Bytes bytes, Bytes offset);
  // The next chunk to carry out; nothing when none waits, or when as many are in flight as serve the disk best.
  std::optional<Chunk> next(bool writing);
  // A chunk is over, with 0, an error number or kFileEnds. True when its transfer is over, too.
  bool end(const Chunk& chunk, int error);
  // The transfer's outcome, after which the ticket is gone; kNotReady while it runs.
  Status take_outcome(IoTicket ticket);

  // What is not in flight never will be.
  void drop_waiting();
  unsigned in_flight() const { return reads_.in_flight + writes_.in_flight; }

 private:
  struct Transfer {
    bool writing = false;
    std::byte* host = nullptr;
    Bytes bytes;
    Bytes offset;         // in the file
    Bytes issued;         // bytes of chunks that were begun
    unsigned chunks = 0;  // in flight
    Status outcome;

    bool is_over() const { return chunks == 0 && (issued == bytes || !outcome.is_ok()); }
  };
  // One direction: transfers with chunks that are not issued, in order, and how many are in flight.
  struct Queue {
    std::deque<IoTicket> waiting;
    unsigned in_flight = 0;
    QueueDepth depth;
    bool full = false;  // when it was asked last: as many as may be are in flight, and more wait
    bool told = false;  // whether its speed was looked at
  };

  Queue& queue_of(bool writing) { return writing ? writes_ : reads_; }
  void look_at_speed(Queue& queue, bool writing) const;
  Status failure(const Chunk& chunk, int error) const;

  const std::string directory_;
  const Clock& clock_;
  std::uint64_t last_ticket_ = 0;
  std::unordered_map<IoTicket, Transfer> transfers_;
  Queue reads_;
  Queue writes_;
};

}  // namespace tessera
