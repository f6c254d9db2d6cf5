// The transfers of one spill file, split into chunks: state common to every real FileIo, however the chunks are carried
// out.
//
// Why chunks: a disk reaches its speed with several requests in flight, and a single page should reach it too. Each
// direction has its own queue and depth (queue_depth.hpp), so that reads never wait behind writes.
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
  // Adds the result of a request, in whole blocks. False when it made no progress.
  bool advance(std::uint64_t moved);
};

// In place of an error number: a read beyond the end of the file.
inline constexpr int kFileEnds = -1;

class TransferQueue {
 public:
  // The alignment that O_DIRECT requires of every address, length and offset.
  static constexpr Bytes kBlock = 4_KiB;
  static constexpr Bytes kChunk = 1_MiB;

  // `directory` is for messages; `depth` is used for each direction. REQUIRES: `clock` outlives it.
  TransferQueue(std::string directory, const Clock& clock, const QueueDepth& depth = QueueDepth());

  // As FileIo's read and write. Errors: kBusy; kInvalidArgument for anything but whole blocks.
  Result<IoTicket> start(bool writing, void* host, Bytes bytes, Bytes offset);
  // The next chunk to carry out; nothing when none is waiting, or when the depth is reached.
  std::optional<Chunk> next(bool writing);
  // A chunk has ended, with 0, an error number or kFileEnds. True when its transfer has ended too.
  bool end(const Chunk& chunk, int error);
  // The outcome of the transfer, after which the ticket is invalid; kNotReady while it runs.
  Status take_outcome(IoTicket ticket);

  // Drops chunks that are not in flight.
  void drop_waiting();
  unsigned in_flight() const { return reads_.in_flight + writes_.in_flight; }

 private:
  struct Transfer {
    bool writing = false;
    std::byte* host = nullptr;
    Bytes bytes;
    Bytes offset;         // in the file
    Bytes issued;         // bytes of chunks that were issued
    unsigned chunks = 0;  // in flight
    Status outcome;

    bool is_over() const { return chunks == 0 && (issued == bytes || !outcome.is_ok()); }
  };
  // One direction: transfers with chunks that are not issued, in order, and the number in flight.
  struct Queue {
    std::deque<IoTicket> waiting;
    unsigned in_flight = 0;
    QueueDepth depth;
    bool full = false;  // at the last call of next(): the depth was reached, and more are waiting
    bool told = false;  // its speed was checked
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
