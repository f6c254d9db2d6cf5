// Builds a Trace event by event, and refuses events that are impossible in a program.
//
// Thread safety: none.
//
// Invariants: those of trace.hpp, after every call.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/status.hpp"
#include "lab/replay/kind_times.hpp"
#include "lab/replay/trace.hpp"

namespace tessera {

// The error for an impossible event.
Status wrong(std::string message);

class TraceBuilder {
 public:
  static constexpr std::uint32_t kMaxDevices = 64;

  TraceBuilder();

  struct Alloc {
    std::uint64_t id = 0;
    Bytes bytes;
    std::uint64_t stream = 0;
    std::uint64_t device = 0;
    std::string_view tag;
    std::optional<Nanoseconds> recompute;
  };
  struct Part {
    std::uint64_t id = 0;
    Bytes offset, bytes;
    auto operator<=>(const Part&) const = default;
  };
  struct Op {
    std::string_view name;
    std::optional<Nanoseconds> time;  // none: that of its kind, if `took` was called for it
    std::uint64_t stream = 0;
    std::uint64_t device = 0;
    std::span<const std::uint64_t> reads;   // ids; duplicates are allowed
    std::span<const std::uint64_t> writes;  // ids with duplicates too; a block may be in both lists
    std::span<const Part> parts{};          // of these blocks only these bytes are used; in any order
  };
  void header(std::string name, std::string source, Bytes device_memory);
  // Errors of these: kInvalidArgument, with nothing added.
  Status alloc(const Alloc& alloc);
  Status free(std::uint64_t id);
  Status op(const Op& op);
  // An operation of this name on this many blocks and bytes took `time`.
  void took(std::string_view name, std::uint64_t device, std::uint64_t blocks, Bytes bytes, Nanoseconds time);
  Status mark(std::string_view kind, std::uint64_t number);
  Status recompute(std::uint64_t id, Nanoseconds time);

  Trace take();

 private:
  Status check_room(std::uint64_t device) const;
  struct BlockPart {
    std::uint32_t block = 0;
    Bytes offset, bytes;
    auto operator<=>(const BlockPart&) const = default;
  };
  Result<std::vector<BlockPart>> check_parts(std::span<const Part> parts) const;
  void add_parts(std::size_t first, std::span<const BlockPart> parts);
  Result<std::vector<std::uint32_t>> blocks_of(std::span<const std::uint64_t> ids) const;
  std::uint32_t word(std::string_view text);
  std::uint32_t stream(std::uint64_t id);
  void add(TraceEvent::Kind kind, std::size_t index);

  Trace trace_;
  std::vector<std::uint32_t> untimed_;  // indices of operations
  KindTimes kind_times_;
  std::unordered_map<std::uint64_t, std::uint32_t> live_;  // id → block
  std::unordered_map<std::string, std::uint32_t> words_;
  std::unordered_map<std::uint64_t, std::uint32_t> streams_;
};

}  // namespace tessera
