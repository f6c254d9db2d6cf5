// The layout of the ledger's file: a header, then rows of fixed size, one for each program.
//
// The rows are the only truth: no sum is stored, so none can be wrong. A row does not cross a page of the file and is
// written in one call, so a process that is killed leaves the old row or the new one. Nothing that is read is trusted:
// a row whose checksum or values are invalid counts as empty.
//
// Thread safety: values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "base/units.hpp"
#include "node/process.hpp"

namespace tessera {

// kDevice is in the ledger of a device, which is a file of its own; the others are in that of the machine.
// kFileWrites is used up, not held: what an ended program wrote stays counted.
enum class NodeResource : std::uint8_t { kHostMemory, kFile, kDevice, kFileWrites };
inline constexpr std::size_t kNodeResources = 4;
// Part of the file's name, so that a file of another version is not in the way.
inline constexpr std::uint32_t kLedgerVersion = 5;
inline constexpr std::size_t kRowName = 16;
inline constexpr std::size_t kRowJob = 32;
inline constexpr std::uint32_t kMostWeight = 10'000;
inline constexpr Bytes kMostNodeBytes{std::uint64_t{1} << 56};

struct LedgerAmount {
  std::uint64_t held = 0;
  std::uint64_t wanted = 0;
};

// All zero: the row is free.
struct LedgerRow {
  std::uint64_t checksum = 0;  // of everything behind it
  std::int32_t pid = 0;
  std::uint32_t weight = 0;
  std::uint64_t started = 0;
  std::uint64_t pid_namespace = 0;
  std::uint64_t seen_ns = 0;   // when the program last looked, on the machine's monotonic clock
  std::uint64_t instance = 0;  // distinguishes several allocators of one process
  std::array<char, kRowName> name{};
  std::array<LedgerAmount, kNodeResources> amounts{};
  std::uint64_t active_ns = 0;  // when the program last used the device, on the machine's monotonic clock
  std::uint64_t turn_ns = 0;    // when its last time slice on the device began; 0: it had none
  std::uint64_t waits_ns = 0;   // when it last waited for one; 0: it does not wait
  std::uint64_t slice_ns = 0;   // how long its turn lasts
  // In the ledger of a device, for tools: what a program has found and decided.
  std::uint64_t budget = 0;     // what all programs may hold of the device together; 0: it is alone there
  std::uint64_t ceiling = 0;    // what this one may hold now,
  std::uint64_t limit = 0;      // and what it may hold at most by its options
  std::uint64_t limit_set = 0;  // instead of that, by other processes; 0: they set none
  std::uint64_t turns = 0;      // time slices that it has had
  std::uint64_t waited_ns = 0;  // how long its calls have waited for them, added up
  std::uint64_t job = 0;        // programs of one job have the same, which is none of another; 0: a program of no job
  std::array<char, kRowJob> job_name{};  // for tools, cut
  std::uint64_t ahead = 0;               // what it may hold in its turn beyond what it wants

  ProcessId process() const { return {pid, started, pid_namespace}; }
  LedgerAmount& of(NodeResource resource) { return amounts[static_cast<std::size_t>(resource)]; }
  const LedgerAmount& of(NodeResource resource) const { return amounts[static_cast<std::size_t>(resource)]; }
  bool is_free() const { return pid == 0; }
};

struct LedgerHeader {
  std::uint64_t checksum = 0;
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t row_bytes = 0;
  std::uint32_t rows = 0;
  std::uint32_t unused = 0;
  std::array<std::uint64_t, kNodeResources> budgets{};  // of all programs together
  std::uint64_t spent_writes = 0;                       // by programs that have ended

  // What is left of it for the programs that run.
  Bytes budget(NodeResource resource) const {
    const std::uint64_t all = budgets[static_cast<std::size_t>(resource)];
    return Bytes(resource == NodeResource::kFileWrites ? all - std::min(all, spent_writes) : all);
  }
};

inline constexpr std::size_t kLedgerPage = 4096;
inline constexpr std::size_t kLedgerRows = 128;
inline constexpr std::size_t kLedgerBytes = kLedgerPage + kLedgerRows * sizeof(LedgerRow);
static_assert(kLedgerPage % sizeof(LedgerRow) == 0 && sizeof(LedgerHeader) <= kLedgerPage);
static_assert(std::is_trivially_copyable_v<LedgerRow> && std::has_unique_object_representations_v<LedgerRow>);
static_assert(std::is_trivially_copyable_v<LedgerHeader> && std::has_unique_object_representations_v<LedgerHeader>);

inline constexpr std::size_t row_offset(std::size_t index) { return kLedgerPage + index * sizeof(LedgerRow); }

// Sets magic, version, sizes and checksum.
void seal(LedgerHeader& header);
// Sets the checksum.
void seal(LedgerRow& row);
// Nothing unless the bytes are a header of this version with possible values.
std::optional<LedgerHeader> read_header(std::span<const std::byte> file);
// The row at `index`; nothing if it is free or invalid. Bytes beyond the end of `file` count as zero.
std::optional<LedgerRow> read_row(std::span<const std::byte> file, std::size_t index);

}  // namespace tessera
