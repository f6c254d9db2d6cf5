#include "lab/replay/bounds.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace tessera {
namespace {

using Kind = TraceEvent::Kind;

// Blocks that can be recomputed need not be moved, so they take no room.
Bytes bytes_to_keep(const TraceBlock& block) { return block.remakable ? Bytes() : block.bytes; }

constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

// For each operand, the operation that next needs what the block contains after this use; kNever when it is freed or
// overwritten first.
std::vector<std::uint32_t> next_needs(const Trace& trace) {
  std::vector<std::uint32_t> next(trace.operands.size());
  std::vector<std::uint32_t> of_block(trace.blocks.size(), kNever);
  for (std::size_t i = trace.ops.size(); i-- > 0;) {
    const TraceOp& op = trace.ops[i];
    for (std::size_t at = 0; at < op.reads + op.writes; ++at) {
      const std::size_t operand = op.first + at;
      std::uint32_t& need = of_block[trace.operands[operand]];
      next[operand] = need;
      need = at < op.reads + op.updates ? static_cast<std::uint32_t>(i) : kNever;
    }
  }
  return next;
}

// One device under Belady's rule, with partial evictions of blocks.
class Paging {
 public:
  Paging(const Trace& trace, Bytes capacity)
      : trace_(trace), next_(next_needs(trace)), capacity_(capacity), blocks_(trace.blocks.size()) {}

  void run(const TraceOp& op) {
    const auto operands = trace_.operands_of(op);
    for (std::size_t i = 0; i < operands.size(); ++i) take(operands[i], i < op.reads + op.updates);
    for (std::size_t i = 0; i < operands.size(); ++i) retime(operands[i], next_[op.first + i]);
    note_excess();
    make_room(operands);
    for (const std::uint32_t block : operands) {
      if (blocks_[block].next == kNever) drop(block);
    }
  }
  ForcedMoves moves() const { return {in_, out_}; }

 private:
  struct Block {
    Bytes here, away;
    std::uint32_t next = kNever;
  };

  void take(std::uint32_t index, bool needs_contents) {
    Block& block = blocks_[index];
    leave_order(index);
    if (needs_contents) in_ += block.away;
    away_ -= block.away;
    block.away = {};
    const Bytes bytes = bytes_to_keep(trace_.blocks[index]);
    here_ += bytes - block.here;
    block.here = bytes;
  }
  void retime(std::uint32_t index, std::uint32_t next) {
    leave_order(index);
    blocks_[index].next = next;
    order_.insert({next, index});
  }
  void leave_order(std::uint32_t index) { order_.erase({blocks_[index].next, index}); }
  void drop(std::uint32_t index) {
    leave_order(index);
    here_ -= blocks_[index].here;
    away_ -= blocks_[index].away;
    blocks_[index] = {};
  }
  void note_excess() {
    if (here_ + away_ > capacity_) out_ = std::max(out_, here_ + away_ - capacity_);
  }
  // Evicts the latest next use first, but not the operation's own blocks.
  void make_room(std::span<const std::uint32_t> own) {
    std::vector<std::uint32_t> kept;
    while (here_ > capacity_ && !order_.empty()) {
      const auto last = std::prev(order_.end());
      const std::uint32_t index = last->second;
      if (std::ranges::find(own, index) != own.end()) {
        kept.push_back(index);
        order_.erase(last);
        continue;
      }
      Block& block = blocks_[index];
      const Bytes part = std::min(block.here, here_ - capacity_);
      block.here -= part;
      block.away += part;
      here_ -= part;
      away_ += part;
      if (!block.here) order_.erase(last);
    }
    for (const std::uint32_t index : kept) order_.insert({blocks_[index].next, index});
  }

  const Trace& trace_;
  const std::vector<std::uint32_t> next_;
  const Bytes capacity_;
  std::vector<Block> blocks_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> order_;  // (next need, block) of blocks with bytes here
  Bytes here_, away_, in_, out_;
};

}  // namespace

TraceBounds bounds_of(const Trace& trace) {
  TraceBounds bounds;
  std::vector<Bytes> live(trace.devices());
  std::vector<Nanoseconds> busy(trace.streams.size());
  for (const TraceEvent& event : trace.events) {
    if (event.kind == Kind::kAlloc || event.kind == Kind::kFree) {
      const TraceBlock& block = trace.blocks[event.index];
      Bytes& sum = live[block.device];
      if (event.kind == Kind::kAlloc) sum += block.bytes;
      if (event.kind == Kind::kFree) sum -= block.bytes;
      bounds.liveness_peak = std::max(bounds.liveness_peak, sum);
    } else if (event.kind == Kind::kOp) {
      const TraceOp& op = trace.ops[event.index];
      Bytes step;
      for (const std::uint32_t block : trace.operands_of(op)) step += trace.blocks[block].bytes;
      bounds.largest_step = std::max(bounds.largest_step, step);
      busy[op.stream] += op.time;
      bounds.compute = std::max(bounds.compute, busy[op.stream]);
    }
  }
  return bounds;
}

ForcedMoves forced_moves(const Trace& trace, std::uint32_t device, Bytes capacity) {
  Paging paging(trace, capacity);
  for (const TraceOp& op : trace.ops) {
    if (op.device == device) paging.run(op);
  }
  return paging.moves();
}

Bytes forced_in_from(const Trace& trace, std::uint32_t device, Bytes capacity, std::size_t first_op) {
  Paging paging(trace, capacity);
  Bytes before;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    if (i == first_op) before = paging.moves().in;
    if (trace.ops[i].device == device) paging.run(trace.ops[i]);
  }
  return paging.moves().in - before;
}

std::vector<Excess> excess_from(const Trace& trace, std::uint32_t device, Bytes capacity, std::size_t first_op) {
  const std::vector<std::uint32_t> next = next_needs(trace);
  std::vector<Excess> of_block(trace.blocks.size()), result;
  Bytes made, needed;
  const auto over = [capacity](Bytes bytes) { return bytes - std::min(bytes, capacity); };
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const TraceOp& op = trace.ops[i];
    const auto operands = trace.operands_of(op);
    for (std::size_t at = 0; op.device == device && at < operands.size(); ++at) {
      Excess& block = of_block[operands[at]];
      made -= block.made;
      needed -= block.needed;
      const bool is_new = i >= first_op && at >= op.reads;
      const bool kept = next[op.first + at] != kNever;
      const Bytes bytes = kept ? bytes_to_keep(trace.blocks[operands[at]]) : Bytes();
      block = {is_new || block.made ? bytes : Bytes(), bytes};
      made += block.made;
      needed += block.needed;
    }
    if (i >= first_op) result.push_back({over(made), over(needed)});
  }
  return result;
}

Nanoseconds compute_from(const Trace& trace, std::size_t first_op) {
  std::vector<Nanoseconds> busy(trace.streams.size());
  for (std::size_t i = first_op; i < trace.ops.size(); ++i) {
    busy[trace.ops[i].stream] += trace.ops[i].time;
  }
  return busy.empty() ? Nanoseconds() : *std::ranges::max_element(busy);
}

}  // namespace tessera
