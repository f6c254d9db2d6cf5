// A fuzz program with injected faults: a machine and a list of operations, all drawn from one seed.
//
// Operations are plain values with operands independent of earlier operations, so any subset of the list is a program
// too, which allows a failing one to be minimised.
//
// Thread safety: values.
//
// Invariants: the same seed and length give the same program on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "driver/driver_call.hpp"
#include "lab/fuzz/stamp_file_io.hpp"

namespace tessera {

enum class FuzzKind : std::uint8_t {
  kAllocate,
  kFree,
  kMap,            // a block of memory that the program maps itself is made, or mapped elsewhere
  kUse,            // queued work
  kUnseenUse,      // queued work, and right behind it work that uses the same blocks without being announced
  kUnseenAlone,    // work that uses a block without being announced, wherever the block is: it may fault
  kHoldUp,         // a kernel that runs far longer than calls of the program may wait
  kLoadingUse,     // queued work for which the driver takes memory at the launch: code, or local memory
  kBlockingUse,    // a call that returns when its work is done
  kAcross,         // the same, with blocks of several devices: a copy between them
  kLoop,           // the same uses again and again; the policy may change midway
  kDwell,          // uses of one part of a block, again and again, with few of others
  kRepeatPattern,  // the same allocations, uses and frees again and again, and once fewer of them
  kPrefetch,
  kEvict,
  kPin,
  kUnpin,
  kExpose,
  kCut,           // the extents of a block are told, or told wrongly, or end
  kSetRecompute,  // a block gets a callback that recomputes its bytes
  kSleep,
  kWake,
  kTrim,
  kIdle,        // the program computes on the host, and time passes
  kEndStream,   // a stream ends, announced or not, and another one replaces it
  kEndContext,  // all streams of a device end at once, and others replace them
  kDriverTake,  // the driver takes device memory, for a call that states its size or for one that does not
  kDriverGive,  // the driver gets memory of a device back
  kAutomatic,   // automatic eviction is switched on or off
  kSetPolicy,
  kWrong,  // a call with an address that is not a block's
  kDriverFault,
  kDiskFault,
  kHostFault,  // host memory is refused
  kLateCopies,
  kStopFaults,  // no more faults for a while
};

struct FuzzOp {
  static constexpr std::size_t kOperands = 3;

  FuzzKind kind = FuzzKind::kIdle;
  std::array<std::uint32_t, kOperands> slots{};  // where the program keeps its blocks
  std::uint32_t operands = 1;                    // of `slots`, from the first
  std::uint32_t written = 0;                     // of those, from the last
  std::uint32_t stream = 0;
  std::uint32_t thread = 0;   // that executes it
  std::uint32_t variant = 0;  // chooses among the variants of the kind
  std::uint32_t tag = 0;
  Bytes bytes;
  Nanoseconds time{};
  DriverCall call = DriverCall::kMap;
  DiskFault fault = DiskFault::kNone;
  std::uint32_t nth = 1;
  std::uint32_t around = 1;  // slots of a loop,
  std::uint32_t rounds = 1;  // and its repetitions; or those of a repeated pattern
  std::string_view policy;   // one of the published policies; empty: none
};

struct FuzzSetup {
  int devices = 1;
  Bytes device, host, file;
  Bytes lent{};  // by each of `lenders` more devices, on which no program runs
  int lenders = 1;
  bool apart = false;  // the first device cannot access the first of them
  std::string policy;
  std::uint32_t low = 0, high = 0;
  std::uint32_t streams = 1;   // for each device
  bool unseen = false;         // work may use blocks without announcing it, and may run long
  bool shared = false;         // the driver takes memory of the devices too
  bool parts = false;          // some blocks are large, and used in parts
  bool objects = false;        // ... of which most come one by one
  bool segments = false;       // many are mapped side by side, and some of those used far more than others
  bool low_addresses = false;  // as a driver places them that ignores hints
  bool host_frames = false;    // host memory can be mapped at blocks' addresses
};

struct FuzzProgram {
  static constexpr int kMostDevices = 3;
  static constexpr std::uint32_t kSlots = 20;
  static constexpr std::uint32_t kPatternBlocks = 13;  // per device, in slots behind kSlots, freed at its end
  static constexpr std::uint32_t kTags = 3;
  static constexpr std::uint32_t kDwellUses = 400;
  static constexpr std::uint32_t kThreads = 3;

  FuzzSetup setup;
  std::vector<FuzzOp> ops;
};

const char* tag_name(std::uint32_t tag);
// How many extents a kCut tells.
std::uint32_t extents_of(const FuzzOp& op);

FuzzProgram make_fuzz(std::uint64_t seed, std::uint32_t operations);
// Such as "thread 1: evict 3".
std::string describe(const FuzzOp& op);
std::string describe(const FuzzSetup& setup);

}  // namespace tessera
