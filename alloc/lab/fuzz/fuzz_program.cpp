#include "lab/fuzz/fuzz_program.hpp"

#include <algorithm>
#include <iterator>

#include <fmt_whole.hpp>

#include "base/page_class.hpp"
#include "policy/policy.hpp"

namespace tessera {
namespace {

using Kind = FuzzKind;

// splitmix64: the same numbers on all machines, unlike the distributions of the standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  std::uint64_t roll() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(roll() % n); }

 private:
  std::uint64_t state_;
};

constexpr std::uint32_t kOneLoopIn = 40;
constexpr std::uint32_t kOneModelIn = 4;
constexpr std::uint32_t kOneLoanIn = 4;
constexpr std::uint32_t kOneRefrainIn = 3;
constexpr std::uint32_t kOnePolicyIn = 50;
constexpr std::uint32_t kOneUnseenIn = 3;
constexpr std::uint32_t kOneAloneIn = 2;  // of the programs with unannounced work
constexpr std::uint32_t kOneSharedIn = 4;
constexpr std::uint32_t kOneCrowdIn = 6;
constexpr std::uint32_t kOneMapperIn = 3;
constexpr std::uint32_t kOneSegmentsIn = 2;  // of those where host memory can be mapped at addresses
constexpr std::uint32_t kOnePartsIn = 6;
constexpr std::uint32_t kOneObjectsIn = 2;  // of those
constexpr std::uint32_t kOneDwellIn = 3;    // of the uses of large blocks

struct Share {
  Kind kind;
  std::uint32_t weight;
};

constexpr Share kShares[] = {
    {Kind::kAllocate, 22},  {Kind::kFree, 10},         {Kind::kUse, 40},      {Kind::kBlockingUse, 5},
    {Kind::kPrefetch, 4},   {Kind::kEvict, 5},         {Kind::kPin, 2},       {Kind::kUnpin, 2},
    {Kind::kExpose, 1},     {Kind::kSleep, 2},         {Kind::kWake, 2},      {Kind::kTrim, 1},
    {Kind::kIdle, 8},       {Kind::kEndStream, 1},     {Kind::kAutomatic, 1}, {Kind::kWrong, 1},
    {Kind::kStopFaults, 2}, {Kind::kSetRecompute, 24},
};
constexpr Share kTroubles[] = {
    {Kind::kDriverFault, 6}, {Kind::kDiskFault, 5}, {Kind::kHostFault, 1}, {Kind::kLateCopies, 2}};

// Calls that can fail while a program runs; the others are made at start and end.
constexpr DriverCall kCalls[] = {
    DriverCall::kCreateFrame,
    DriverCall::kDestroyFrame,
    DriverCall::kMap,
    DriverCall::kSetAccess,
    DriverCall::kUnmap,
    DriverCall::kRegisterHost,
    DriverCall::kUnregisterHost,
    DriverCall::kWaitEvent,
    DriverCall::kCreateEvent,
    DriverCall::kDestroyEvent,
    DriverCall::kRecordEvent,
    DriverCall::kQueryEvent,
    DriverCall::kSynchronizeEvent,
    DriverCall::kCopyIn,
    DriverCall::kCopyOut,
    DriverCall::kSynchronizeDevice,
    DriverCall::kSynchronizeStream,
    DriverCall::kCreateStream,
    DriverCall::kReserve,
    DriverCall::kProperties,
    DriverCall::kMemoryInfo,
    DriverCall::kCreateTimedEvent,
    DriverCall::kElapsed,
    DriverCall::kCopyAll,
    DriverCall::kFingerprint,
};

template <std::size_t kCount>
std::uint32_t sum_of(const Share (&shares)[kCount]) {
  std::uint32_t sum = 0;
  for (const Share& share : shares) sum += share.weight;
  return sum;
}

template <std::size_t kCount>
Kind pick(const Share (&shares)[kCount], std::uint32_t number) {
  for (const Share& share : shares) {
    if (number < share.weight) return share.kind;
    number -= share.weight;
  }
  return shares[0].kind;
}

// All size classes: slots of slabs, base pages, large pages with and without a tail.
Bytes draw_size(Dice& dice, Bytes device) {
  const std::uint32_t kind = dice.below(10);
  Bytes bytes = Bytes(1 + dice.below(1 << 20));
  if (kind == 0) bytes = Bytes(1 + dice.below(2048));
  if (kind >= 3) bytes = kBasePage * (1 + dice.below(4)) - Bytes(dice.below(2) * 300'000);
  if (kind >= 8) bytes = kLargePage + Bytes(dice.below(3) * 3'000'000);
  return std::min(bytes, std::max(device / 2, kBasePage));
}

std::string_view draw_policy(Dice& dice) {
  const auto count = static_cast<std::uint32_t>(policies().size());
  return policies()[dice.below(count)].name;
}

FuzzSetup draw_setup(Dice& dice) {
  FuzzSetup setup;
  setup.devices = dice.below(5) == 0 ? 2 : 1;
  constexpr std::uint32_t kDevicePages[] = {4, 6, 8, 12, 20, 40, 64};
  setup.device = kBasePage * kDevicePages[dice.below(std::size(kDevicePages))];
  constexpr std::uint32_t kBelow[] = {0, 2, 5, 12, 40, 100};
  setup.host = kBasePage * kBelow[dice.below(std::size(kBelow))];
  setup.file = kBasePage * kBelow[dice.below(std::size(kBelow))];
  setup.policy = draw_policy(dice);
  setup.low = dice.below(3) * 10;
  setup.high = setup.low * 2 + 5;
  setup.streams = 2 + dice.below(3);
  return setup;
}

void draw_trouble(Dice& dice, FuzzOp& op) {
  op.kind = pick(kTroubles, dice.below(sum_of(kTroubles)));
  op.call = kCalls[dice.below(std::size(kCalls))];
  op.fault = static_cast<DiskFault>(1 + dice.below(kDiskFaults));
  op.nth = 1 + dice.below(dice.below(2) == 0 ? 2 : 12);
  op.time = Nanoseconds(1000 + dice.below(100'000'000));
}

FuzzOp draw_op(Dice& dice, const FuzzSetup& setup, bool troubled) {
  FuzzOp op;
  op.kind = pick(kShares, dice.below(sum_of(kShares)));
  for (auto& slot : op.slots) slot = dice.below(FuzzProgram::kSlots);
  op.operands = 1 + dice.below(FuzzOp::kOperands);
  op.written = dice.below(op.operands + 1);
  op.stream = dice.below(setup.streams);
  op.variant = dice.below(8);
  op.tag = dice.below(FuzzProgram::kTags);
  op.bytes = draw_size(dice, setup.device);
  op.time = Nanoseconds(dice.below(4) == 0 ? dice.below(20'000'000) : dice.below(200'000));
  if (troubled && dice.below(9) == 0) draw_trouble(dice, op);
  return op;
}

// Replaces some operations by loops and policy changes, as a program repeats and has phases.
void draw_phase(Dice& dice, FuzzOp& op) {
  const bool loops = dice.below(kOneLoopIn) == 0, changes = dice.below(kOnePolicyIn) == 0;
  op.around = 2 + dice.below(8);
  op.rounds = 4 + dice.below(10);
  const std::string_view policy = dice.below(8) == 0 ? "auto" : draw_policy(dice);
  if (loops) op.kind = Kind::kLoop;
  if (changes && !loops) op.kind = Kind::kSetPolicy;
  if (op.kind == Kind::kSetPolicy || (loops && dice.below(2) == 0)) op.policy = policy;
}

// Replaces the first operations by allocations that are all made before any free, most of them of a size with which
// several blocks share pages, plus enough of others.
void draw_model(Dice& dice, std::vector<FuzzOp>& ops) {
  const Bytes weight = 1152_KiB * (1 + dice.below(2));
  for (std::uint32_t i = 0; i < std::min<std::size_t>(FuzzProgram::kSlots, ops.size()); ++i) {
    ops[i].kind = Kind::kAllocate;
    ops[i].slots[0] = i;
    ops[i].bytes = i < 6 ? 16_MiB : weight;
    ops[i].stream = ops[i].tag = 0;
    ops[i].policy = {};
  }
}

// Replaces one operation by iterations with a few sizes that are not whole pages.
void draw_pattern(Dice& dice, std::vector<FuzzOp>& ops) {
  FuzzOp& op = ops[dice.below(static_cast<std::uint32_t>(ops.size()))];
  op.kind = Kind::kRepeatPattern;
  op.rounds = 4 + dice.below(2);
}

// Adds a lending device, and failing copies to it.
void draw_loan(Dice& dice, FuzzProgram& program) {
  constexpr std::uint32_t kPages[] = {1, 4, 16, 40};
  program.setup.lent = kBasePage * kPages[dice.below(std::size(kPages))];
  for (FuzzOp& op : program.ops) {
    if (op.kind == Kind::kDriverFault && dice.below(6) == 0) op.call = DriverCall::kCopy;
  }
}

// Has two or three devices lend, so that the pages of a block lie with several.
void draw_lenders(Dice& dice, FuzzProgram& program) {
  if (program.setup.lent && dice.below(2) == 0) program.setup.lenders = 2 + static_cast<int>(dice.below(2));
}

// Adds unannounced work, as if uses were derived from launches, and long-running work.
void draw_unseen(Dice& dice, FuzzProgram& program) {
  program.setup.unseen = true;
  for (FuzzOp& op : program.ops) {
    const bool unseen = dice.below(3) == 0, lasts = dice.below(10) == 0;
    if (op.kind == Kind::kUse && unseen) op.kind = Kind::kUnseenUse;
    if (op.kind == Kind::kIdle && lasts) op.kind = Kind::kHoldUp;
  }
}

// Adds unannounced work on blocks that no announced work has just used; some of them are on their way in, or out.
void draw_alone(Dice& dice, FuzzProgram& program) {
  const FuzzOp* moved = nullptr;
  for (FuzzOp& op : program.ops) {
    const std::uint32_t what = dice.below(12);
    if (op.kind == Kind::kPrefetch || op.kind == Kind::kEvict || op.kind == Kind::kWake) {
      moved = &op;
    } else if (op.kind == Kind::kUse && (what < 2 || (what < 8 && moved != nullptr))) {
      op.kind = Kind::kUnseenAlone;
      if (moved != nullptr) op.slots = moved->slots;
      moved = nullptr;
    }
  }
}

// Adds a driver that takes device memory while the program runs, and returns it.
void draw_shared(Dice& dice, FuzzProgram& program) {
  program.setup.shared = true;
  for (FuzzOp& op : program.ops) {
    const std::uint32_t what = dice.below(12);
    if (op.kind == Kind::kIdle && what < 8) op.kind = what < 5 ? Kind::kDriverTake : Kind::kDriverGive;
    if (op.kind == Kind::kUse && what == 0) op.kind = Kind::kLoadingUse;
  }
}

// A machine for a few large blocks, most of them cut into extents; some are larger than the device.
void draw_parts(Dice& dice, FuzzProgram& program) {
  constexpr std::uint32_t kDevicePages[] = {64, 96, 144, 200, 320};
  constexpr std::uint32_t kBelow[] = {0, 200, 500};
  program.setup.parts = true;
  program.setup.device = kBasePage * kDevicePages[dice.below(std::size(kDevicePages))];
  program.setup.host = kBasePage * kBelow[dice.below(std::size(kBelow))];
  program.setup.file = kBasePage * kBelow[dice.below(std::size(kBelow))];
  for (FuzzOp& op : program.ops) {
    const std::uint32_t what = dice.below(8);
    if (op.kind == Kind::kAllocate && what < 4) op.bytes = 256_MiB + Bytes(dice.below(48) * 1'500'000);
    const bool cuts = op.kind == Kind::kPrefetch || op.kind == Kind::kSetRecompute;
    if (cuts && what < 5) op.kind = Kind::kCut;
  }
}

// Uses some parts of blocks far more than others, where larger blocks than the device are partly in host memory.
void draw_dwell(Dice& dice, FuzzProgram& program) {
  for (FuzzOp& op : program.ops) {
    if (op.kind == Kind::kUse && dice.below(kOneDwellIn) == 0) op.kind = Kind::kDwell;
  }
}

// The same in segments of mapped blocks that are larger than the device.
void draw_segments(Dice& dice, FuzzProgram& program) {
  constexpr std::uint32_t kDevicePages[] = {8, 12, 16};
  constexpr std::uint32_t kHostPages[] = {12, 40, 100};
  program.setup.segments = true;
  program.setup.device = kBasePage * kDevicePages[dice.below(std::size(kDevicePages))];
  program.setup.host = kBasePage * kHostPages[dice.below(std::size(kHostPages))];
  for (FuzzOp& op : program.ops) {
    const std::uint32_t what = dice.below(8), pages = 1 + dice.below(2);
    const bool makes = op.kind == Kind::kAllocate || op.kind == Kind::kSetRecompute;
    if (makes && what < 6) op.kind = Kind::kMap;
    if (op.kind == Kind::kMap) op.bytes = kBasePage * pages;
    if (op.kind == Kind::kMap && what < 5) op.variant = 2;
    if (op.kind == Kind::kUse && what == 0) op.kind = Kind::kDwell;
  }
}

// Uses three devices, copies between them, and contexts that end.
void draw_crowd(Dice& dice, FuzzProgram& program) {
  program.setup.devices = FuzzProgram::kMostDevices;
  program.setup.apart = program.setup.lent && dice.below(3) == 0;
  for (FuzzOp& op : program.ops) {
    const std::uint32_t what = dice.below(12);
    const bool moves = op.kind == Kind::kUse && what == 0;
    if (moves || (op.kind == Kind::kBlockingUse && what < 8)) {
      op.kind = Kind::kAcross;
      op.operands = std::max<std::uint32_t>(op.operands, 2);
    }
    if (op.kind == Kind::kEndStream && what < 4) op.kind = Kind::kEndContext;
  }
}

// Adds memory that the program maps itself.
void draw_maps(Dice& dice, FuzzProgram& program) {
  for (FuzzOp& op : program.ops) {
    const std::uint32_t what = dice.below(8);
    if (op.kind == Kind::kAllocate && what < 4) op.kind = Kind::kMap;
    if ((op.kind == Kind::kIdle || op.kind == Kind::kUse) && what == 0) op.kind = Kind::kMap;
  }
}

}  // namespace

const char* tag_name(std::uint32_t tag) {
  constexpr const char* kNames[FuzzProgram::kTags] = {"", "weight", "cache"};
  return kNames[tag];
}

// Threads, phases, models and all later additions have dice of their own, so that an addition does not change what the
// others draw.
FuzzProgram make_fuzz(std::uint64_t seed, std::uint32_t operations) {
  Dice dice(seed), threads(~seed), phases(seed ^ (~std::uint64_t{0} >> 1)), models(seed ^ (~std::uint64_t{0} >> 2)),
      loans(seed ^ (~std::uint64_t{0} >> 3)), refrains(seed ^ (~std::uint64_t{0} >> 4)),
      unseen(seed ^ (~std::uint64_t{0} >> 5)), shared(seed ^ (~std::uint64_t{0} >> 6)),
      crowds(seed ^ (~std::uint64_t{0} >> 7)), maps(seed ^ (~std::uint64_t{0} >> 8)),
      parts(seed ^ (~std::uint64_t{0} >> 9)), alone(seed ^ (~std::uint64_t{0} >> 10)),
      lenders(seed ^ (~std::uint64_t{0} >> 11)), dwells(seed ^ (~std::uint64_t{0} >> 12)),
      objects(seed ^ (~std::uint64_t{0} >> 13));
  FuzzProgram program;
  program.setup = draw_setup(dice);
  const bool troubled = dice.below(5) != 0;  // some programs have only their own errors
  program.ops.reserve(operations);
  for (std::uint32_t i = 0; i < operations; ++i) {
    program.ops.push_back(draw_op(dice, program.setup, troubled));
    draw_phase(phases, program.ops.back());
    program.ops.back().thread = threads.below(FuzzProgram::kThreads);
  }
  if (models.below(kOneModelIn) == 0) draw_model(models, program.ops);
  program.setup.low_addresses = seed % 4 == 3;
  program.setup.host_frames = seed % 3 == 1;
  if (loans.below(kOneLoanIn) == 0) draw_loan(loans, program);
  if (refrains.below(kOneRefrainIn) == 0 && operations > 0) draw_pattern(refrains, program.ops);
  if (unseen.below(kOneUnseenIn) == 0) draw_unseen(unseen, program);
  if (shared.below(kOneSharedIn) == 0) draw_shared(shared, program);
  if (crowds.below(kOneCrowdIn) == 0) draw_crowd(crowds, program);
  const bool has_parts = parts.below(kOnePartsIn) == 0;
  if (has_parts) draw_parts(parts, program);
  program.setup.objects = has_parts && objects.below(kOneObjectsIn) == 0;
  if (has_parts && program.setup.host_frames) draw_dwell(dwells, program);
  const bool has_maps = !has_parts && maps.below(kOneMapperIn) == 0;
  if (has_maps) draw_maps(maps, program);
  if (has_maps && program.setup.host_frames && dwells.below(kOneSegmentsIn) == 0) draw_segments(dwells, program);
  if (program.setup.unseen && alone.below(kOneAloneIn) == 0) draw_alone(alone, program);
  draw_lenders(lenders, program);
  return program;
}

std::uint32_t extents_of(const FuzzOp& op) { return 2 + op.variant + op.nth % 5; }

std::string describe(const FuzzSetup& setup) {
  return fmt::format(
      "{} devices of {} MiB, lent {} MiB by {}{}, host {} MiB, file {} MiB, policy {}, watermarks {} and {}{}{}{}{}{}",
      setup.devices, setup.device / 1_MiB, setup.lent / 1_MiB, setup.lenders, setup.apart ? " but to the first" : "",
      setup.host / 1_MiB, setup.file / 1_MiB, setup.policy, setup.low, setup.high, setup.unseen ? ", unseen work" : "",
      setup.shared ? ", a driver that takes memory" : "",
      setup.objects    ? ", large blocks with objects"
      : setup.parts    ? ", large blocks"
      : setup.segments ? ", segments"
                       : "",
      setup.low_addresses ? ", low addresses" : "", setup.host_frames ? ", host frames" : "");
}

namespace {

std::string describe_call(const FuzzOp& op) {
  const std::uint32_t slot = op.slots[0];
  const std::string blocks = fmt::format("{}", fmt::join(op.slots.begin(), op.slots.begin() + op.operands, ", "));
  switch (op.kind) {
    case Kind::kAllocate:
      return fmt::format("allocate block {}: {} bytes on stream {}, tag '{}'", slot, op.bytes.value(), op.stream,
                         tag_name(op.tag));
    case Kind::kMap:
      return fmt::format("map block {} {}, or make it: {} bytes", slot,
                         op.variant % 3 != 0 ? "at other addresses" : "nowhere", op.bytes.value());
    case Kind::kFree: return fmt::format("free block {} by way {} on stream {}", slot, op.variant % 4, op.stream);
    case Kind::kUse:
    case Kind::kUnseenUse:
    case Kind::kBlockingUse:
    case Kind::kAcross:
      return fmt::format("use {}{} (write the last {}) on stream {} for {} ns{}", blocks,
                         op.kind == Kind::kAcross ? " of all devices" : "", op.written, op.stream, op.time.value(),
                         op.kind == Kind::kUse         ? ""
                         : op.kind == Kind::kUnseenUse ? ", and once more unseen"
                                                       : ", and wait for it");
    case Kind::kLoadingUse:
      return fmt::format("write {} on stream {} for {} ns, by code that is loaded first: {} bytes", blocks, op.stream,
                         op.time.value(), op.bytes.value());
    case Kind::kUnseenAlone:
      return fmt::format("{} {} unseen on stream {}", op.variant % 2 == 0 ? "write" : "read", slot, op.stream);
    case Kind::kHoldUp: return fmt::format("a kernel lasts long on stream {}", op.stream);
    case Kind::kLoop:
      return fmt::format("{} times use {} blocks from {} in turn on stream {} for {} ns each{}", op.rounds, op.around,
                         slot, op.stream, op.time.value(),
                         op.policy.empty() ? "" : fmt::format(", policy {} from halfway on", op.policy));
    case Kind::kDwell:
      return fmt::format("{} times use a part of {} (write the last {}) on stream {}, and few times others",
                         FuzzProgram::kDwellUses, blocks, op.written, op.stream);
    case Kind::kRepeatPattern:
      return fmt::format("{} times allocate, use and free the same blocks, tag '{}', on stream {} for {} ns each{}",
                         op.rounds, tag_name(op.tag), op.stream, op.time.value(),
                         op.variant % 2 == 0 ? "" : ", once with fewer of them");
    case Kind::kSetPolicy: return fmt::format("policy {}", op.policy);
    case Kind::kPrefetch: return fmt::format("prefetch {}", blocks);
    case Kind::kEvict: return fmt::format("evict {}", slot);
    case Kind::kPin: return fmt::format("pin {}", slot);
    case Kind::kUnpin: return fmt::format("unpin {}", slot);
    case Kind::kExpose: return fmt::format("expose {}", slot);
    case Kind::kCut:
      return fmt::format("block {}: {}", slot,
                         op.variant == 6   ? "wrong extents"
                         : op.variant == 7 ? "no extents any more"
                                           : fmt::format("extents, {} of them", extents_of(op)));
    case Kind::kSetRecompute:
      return fmt::format("block {} can be recomputed from {}, {}{}", slot, op.slots[1],
                         op.variant < 4 ? "cheap" : "expensive", op.variant % 4 == 0 ? ", but not immediately" : "");
    case Kind::kSleep: return fmt::format("sleep '{}'", op.variant == 0 ? "all" : tag_name(op.tag));
    case Kind::kWake: return fmt::format("wake '{}'", op.variant == 0 ? "all" : tag_name(op.tag));
    case Kind::kTrim: return "trim";
    case Kind::kIdle: return fmt::format("idle for {} ns", op.time.value());
    case Kind::kEndStream: return fmt::format("end stream {}{}", op.stream, op.variant % 2 == 0 ? "" : ", unannounced");
    case Kind::kEndContext: return fmt::format("all streams of the device of block {} end", slot);
    case Kind::kDriverTake:
      return fmt::format("the driver takes {} bytes of the device of block {} for a call that {}", op.bytes.value(),
                         slot, op.variant % 2 == 0 ? "says so" : "does not say so");
    case Kind::kDriverGive: return "the driver gets memory back";
    case Kind::kAutomatic: return op.variant % 4 == 0 ? "automatic off" : "automatic on";
    case Kind::kWrong: return fmt::format("call with a wrong address, way {}", op.variant);
    case Kind::kDriverFault:
      return fmt::format("fault: {} number {} fails{}", name_of(op.call), op.nth,
                         op.variant == 0 ? ", and all after it" : "");
    case Kind::kDiskFault: return fmt::format("fault: transfer {} of the disk: {}", op.nth, name_of(op.fault));
    case Kind::kHostFault: return "fault: the machine refuses more host memory";
    case Kind::kLateCopies: return fmt::format("fault: {} copies are {} ns late", op.nth, op.time.value());
    case Kind::kStopFaults: return "no more faults";
  }
  return "";
}

}  // namespace

std::string describe(const FuzzOp& op) { return fmt::format("thread {}: {}", op.thread, describe_call(op)); }

}  // namespace tessera
