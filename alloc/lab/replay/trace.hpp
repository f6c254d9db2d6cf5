// A trace as values: what a program allocated, used and freed, in order.
//
// A block here is one allocation: an id that is freed and allocated again names two blocks. The operands of all
// operations are in one array, because a trace has millions of them.
//
// Thread safety: values.
//
// Invariants: every index is in range; the operands of an operation are live at that point; each block is allocated
// once and freed at most once, later; parts are not empty, and inside their blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace tessera {

struct TraceBlock {
  std::uint64_t id = 0;  // as named by the trace
  Bytes bytes;
  std::uint32_t stream = 0;  // index into Trace::streams
  std::uint32_t tag = 0;     // index into Trace::words
  std::uint32_t device = 0;
  std::optional<Nanoseconds> recompute;  // the time to recompute its bytes, after each write
  bool remakable = false;                // at any time in the trace
};

struct TraceOp {
  Nanoseconds time;
  std::size_t first = 0;    // of its operands: those it only reads, then those it writes
  std::uint32_t reads = 0;  // blocks that it reads and does not write
  std::uint32_t writes = 0;
  std::uint32_t updates = 0;  // of the writes, the first `updates` are read as well
  std::uint32_t stream = 0;
  std::uint32_t device = 0;
  std::uint32_t name = 0;  // index into Trace::words
};

// The bytes of a block that an operation uses, where it does not use all of them.
struct TracePart {
  std::size_t operand = 0;  // index into Trace::operands; a block may be used in several parts
  Bytes offset, bytes;
};

struct TraceMark {
  std::uint32_t kind = 0;  // index into Trace::words
  std::uint64_t number = 0;
};

// From here to the block's next write, its contents can be recomputed.
struct TraceRecompute {
  std::uint32_t block = 0;
  Nanoseconds time;  // 0: no longer
};

struct TraceEvent {
  enum class Kind : std::uint8_t { kAlloc, kFree, kOp, kMark, kRecompute };
  Kind kind = Kind::kMark;
  std::uint32_t index = 0;  // of the block, operation, mark or recompute
};

struct Trace {
  std::string name;
  std::string source;
  Bytes device_memory;  // of the recorded run; 0 when the trace does not have it
  std::vector<TraceEvent> events;
  std::vector<TraceBlock> blocks;
  std::vector<TraceOp> ops;
  std::vector<TraceMark> marks;
  std::vector<TraceRecompute> recomputes;
  std::vector<std::uint32_t> operands;  // indices of blocks
  std::vector<TracePart> parts;         // by operand; one without uses all of its block
  std::vector<std::uint64_t> streams;   // as named by the trace
  std::vector<std::string> words;       // names of operations, tags, kinds of marks; the first is ""
  std::vector<std::string> notes;       // what was missing or skipped, one line each, for the user

  std::span<const std::uint32_t> operands_of(const TraceOp& op) const {
    return std::span(operands).subspan(op.first, op.reads + op.writes);
  }
  std::span<const TracePart> parts_of(std::size_t operand) const;
  bool is_iteration(const TraceMark& mark) const { return words[mark.kind] == "iteration"; }
  std::uint32_t devices() const;
};

}  // namespace tessera
