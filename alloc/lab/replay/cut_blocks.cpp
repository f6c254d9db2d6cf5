#include "lab/replay/cut_blocks.hpp"

#include <algorithm>

namespace tessera {
namespace {

using Kind = TraceEvent::Kind;

struct Piece {
  Bytes offset, end;
  std::uint32_t block = 0;  // of the new trace
};

// By block of the given trace, in address order.
using Pieces = std::vector<std::vector<Piece>>;

// Where parts begin or end, by block.
std::vector<std::vector<Bytes>> cuts_of(const Trace& trace) {
  std::vector<std::vector<Bytes>> cuts(trace.blocks.size());
  for (const TracePart& part : trace.parts) {
    std::vector<Bytes>& own = cuts[trace.operands[part.operand]];
    own.push_back(part.offset);
    own.push_back(part.offset + part.bytes);
  }
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    cuts[i].push_back(Bytes());
    cuts[i].push_back(trace.blocks[i].bytes);
    std::ranges::sort(cuts[i]);
    cuts[i].erase(std::unique(cuts[i].begin(), cuts[i].end()), cuts[i].end());
  }
  return cuts;
}

Pieces make_pieces(const Trace& trace, Trace& cut) {
  const std::vector<std::vector<Bytes>> cuts = cuts_of(trace);
  Pieces pieces(trace.blocks.size());
  for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
    for (std::size_t at = 0; at + 1 < cuts[i].size(); ++at) {
      pieces[i].push_back({cuts[i][at], cuts[i][at + 1], static_cast<std::uint32_t>(cut.blocks.size())});
      cut.blocks.push_back(trace.blocks[i]);
      cut.blocks.back().bytes = cuts[i][at + 1] - cuts[i][at];
    }
  }
  return pieces;
}

// The pieces that an operand uses.
void add_used(const Trace& trace, std::size_t operand, const Pieces& pieces, std::vector<std::uint32_t>& used) {
  const std::span<const TracePart> parts = trace.parts_of(operand);
  for (const Piece& piece : pieces[trace.operands[operand]]) {
    const bool is_used = parts.empty() || std::ranges::any_of(parts, [&piece](const TracePart& part) {
                           return piece.offset >= part.offset && piece.end <= part.offset + part.bytes;
                         });
    if (is_used) used.push_back(piece.block);
  }
}

void add_op(const Trace& trace, const TraceOp& given, const Pieces& pieces, Trace& cut) {
  TraceOp op = given;
  op.first = cut.operands.size();
  const auto add = [&](std::uint32_t first, std::uint32_t count) {
    const std::size_t before = cut.operands.size();
    for (std::uint32_t i = 0; i < count; ++i) add_used(trace, given.first + first + i, pieces, cut.operands);
    return static_cast<std::uint32_t>(cut.operands.size() - before);
  };
  op.reads = add(0, given.reads);
  op.updates = add(given.reads, given.updates);
  op.writes = op.updates + add(given.reads + given.updates, given.writes - given.updates);
  cut.ops.push_back(op);
}

}  // namespace

std::vector<std::vector<UsedStretch>> used_stretches(const Trace& trace) {
  std::vector<std::vector<UsedStretch>> stretches(trace.blocks.size());
  for (const TracePart& part : trace.parts) {
    stretches[trace.operands[part.operand]].push_back({part.offset, part.bytes});
  }
  for (std::vector<UsedStretch>& own : stretches) {
    std::ranges::sort(own, {}, &UsedStretch::offset);
    std::vector<UsedStretch> merged;
    for (const UsedStretch& next : own) {
      if (merged.empty() || next.offset >= merged.back().offset + merged.back().bytes) {
        merged.push_back(next);
      } else {
        const Bytes end = std::max(merged.back().offset + merged.back().bytes, next.offset + next.bytes);
        merged.back().bytes = end - merged.back().offset;
      }
    }
    own = std::move(merged);
  }
  return stretches;
}

Trace cut_blocks(const Trace& trace) {
  Trace cut = trace;
  cut.events.clear();
  cut.blocks.clear();
  cut.ops.clear();
  cut.operands.clear();
  cut.parts.clear();
  cut.recomputes.clear();
  const Pieces pieces = make_pieces(trace, cut);
  for (const TraceOp& op : trace.ops) add_op(trace, op, pieces, cut);
  for (const TraceEvent& event : trace.events) {
    if (event.kind == Kind::kOp || event.kind == Kind::kMark) {
      cut.events.push_back(event);
    } else if (event.kind == Kind::kRecompute) {
      const TraceRecompute& recompute = trace.recomputes[event.index];
      for (const Piece& piece : pieces[recompute.block]) {
        cut.events.push_back({Kind::kRecompute, static_cast<std::uint32_t>(cut.recomputes.size())});
        cut.recomputes.push_back({piece.block, recompute.time});
      }
    } else {
      for (const Piece& piece : pieces[event.index]) cut.events.push_back({event.kind, piece.block});
    }
  }
  return cut;
}

}  // namespace tessera
