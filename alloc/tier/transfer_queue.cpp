#include "tier/transfer_queue.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "base/log.hpp"

namespace tessera {
namespace {

bool is_aligned(const void* host, Bytes bytes, Bytes offset) {
  constexpr Bytes kBlock = TransferQueue::kBlock;
  const Bytes address(reinterpret_cast<std::uint64_t>(host));
  return !(address % kBlock) && !(bytes % kBlock) && !(offset % kBlock) && bytes;
}

// Below this many bytes per second, waiting for the disk costs more than it helps.
constexpr std::uint64_t kSlow = 200'000'000;

}  // namespace

bool Chunk::advance(std::uint64_t moved) {
  const Bytes blocks = Bytes(moved) / TransferQueue::kBlock * TransferQueue::kBlock;
  done += blocks;
  return blocks != Bytes();
}

TransferQueue::TransferQueue(std::string directory, const Clock& clock, const QueueDepth& depth)
    : directory_(std::move(directory)), clock_(clock) {
  reads_.depth = writes_.depth = depth;
}

Result<IoTicket> TransferQueue::start(bool writing, void* host, Bytes bytes, Bytes offset) {
  if (!is_aligned(host, bytes, offset)) {
    return Status(Code::kInvalidArgument, fmt::format("transfer of {} bytes at {} is not a multiple of blocks of {}",
                                                      bytes.value(), offset.value(), kBlock.value()));
  }
  if (transfers_.size() >= FileIo::kMaxTransfers) {
    return Status(Code::kBusy, fmt::format("{} transfers are in flight", transfers_.size()));
  }
  const IoTicket ticket(++last_ticket_);
  queue_of(writing).waiting.push_back(ticket);
  transfers_.emplace(ticket, Transfer{writing, static_cast<std::byte*>(host), bytes, offset, Bytes(), 0, Status()});
  return ticket;
}

std::optional<Chunk> TransferQueue::next(bool writing) {
  Queue& queue = queue_of(writing);
  while (!queue.waiting.empty() && queue.in_flight < queue.depth.depth()) {
    const IoTicket ticket = queue.waiting.front();
    Transfer& transfer = transfers_.at(ticket);
    if (transfer.issued == transfer.bytes || !transfer.outcome.is_ok()) {
      queue.waiting.pop_front();
      continue;
    }
    const Chunk chunk{ticket,
                      writing,
                      transfer.host + transfer.issued.value(),
                      transfer.offset + transfer.issued,
                      std::min(kChunk, transfer.bytes - transfer.issued),
                      Bytes(),
                      clock_.now()};
    transfer.issued += chunk.bytes;
    ++transfer.chunks;
    ++queue.in_flight;
    return chunk;
  }
  queue.full = queue.in_flight == queue.depth.depth() && !queue.waiting.empty();
  return std::nullopt;
}

bool TransferQueue::end(const Chunk& chunk, int error) {
  Transfer& transfer = transfers_.at(chunk.ticket);
  Queue& queue = queue_of(chunk.writing);
  if (error != 0 && transfer.outcome.is_ok()) transfer.outcome = failure(chunk, error);
  --transfer.chunks;
  --queue.in_flight;
  if (transfer.outcome.is_ok()) {
    const unsigned depth = queue.depth.depth();
    queue.depth.ended(chunk.bytes, clock_.now() - chunk.issued, queue.full);
    if (queue.depth.depth() != depth) queue.full = false;  // those completing now were issued at the old depth
  }
  look_at_speed(queue, chunk.writing);
  return transfer.is_over();
}

void TransferQueue::look_at_speed(Queue& queue, bool writing) const {
  if (queue.told || !queue.depth.is_settled()) return;
  queue.told = true;
  const std::uint64_t speed = queue.depth.speed();
  log_line(speed < kSlow ? LogLevel::kWarning : LogLevel::kInfo,
           "spill directory {}: {} at {} MB/s with {} requests in flight{}", directory_, writing ? "writes" : "reads",
           speed / 1'000'000, queue.depth.depth(),
           speed < kSlow ? ": evictions and fetches will wait for this slow disk" : "");
}

Status TransferQueue::failure(const Chunk& chunk, int error) const {
  return Status(Code::kIo,
                fmt::format("spill directory {}: {} of {} bytes at {} failed: {}", directory_,
                            chunk.writing ? "writing" : "reading", chunk.left().value(), chunk.next_offset().value(),
                            error == kFileEnds ? "the file ends there" : std::strerror(error)));
}

Status TransferQueue::take_outcome(IoTicket ticket) {
  const auto found = transfers_.find(ticket);
  if (found == transfers_.end()) {
    return Status(Code::kInvalidArgument, fmt::format("no transfer {}", ticket.value()));
  }
  if (!found->second.is_over()) return Status(Code::kNotReady, "the transfer is in flight");
  Status outcome = std::move(found->second.outcome);
  std::erase(queue_of(found->second.writing).waiting, ticket);
  transfers_.erase(found);
  return outcome;
}

void TransferQueue::drop_waiting() {
  reads_.waiting.clear();
  writes_.waiting.clear();
}

}  // namespace tessera
