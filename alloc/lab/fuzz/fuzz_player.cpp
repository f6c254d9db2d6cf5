#include "lab/fuzz/fuzz_player.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/page_class.hpp"
#include "driver/native_codes.hpp"

namespace tessera {
namespace {

using Kind = FuzzKind;

// Polls until nothing is in flight; each poll lets time pass.
constexpr int kMaxLooks = 100'000;

}  // namespace

FuzzPlayer::FuzzPlayer(const FuzzSetup& setup, FuzzMachine& machine) : setup_(setup), machine_(machine) {
  for (int device = 0; device < setup.devices; ++device) {
    for (std::uint32_t i = 0; i < setup.streams; ++i) {
      Result<StreamId> made = machine.sim().create_stream(DeviceId(static_cast<std::uint64_t>(device)));
      if (passed("create_stream", made.status())) streams_.push_back(made.value());
    }
  }
  held_until_.resize(streams_.size());
  if (setup.unseen) machine.allocator().heaps().expect_unseen_work();
  for (std::uint32_t tag = 0; tag < FuzzProgram::kTags; ++tag) {
    tags_[tag] = machine.allocator().tags().intern(tag_name(tag)).take();
  }
}

FuzzPlayer::~FuzzPlayer() {
  give_all_to_driver();
  for (const StreamId stream : streams_) {
    if (!machine_.sim().destroy_stream(stream).is_ok())
      machine_.driver().note_violation("a stream could not be destroyed");
  }
}

// ---- allowed and forbidden results --------------------------------------------------------------

void FuzzPlayer::fail(std::string what) {
  if (!failure_) failure_ = std::move(what);
}

std::uint64_t FuzzPlayer::struck() const {
  return driver_struck_ + machine_.disk().struck() + host_troubles_ + callbacks_failed_;
}

bool FuzzPlayer::explained(const Status& status) const {
  switch (status.code()) {
    case Code::kOk:
    case Code::kOutOfMemory:
    case Code::kBusy: return true;
    case Code::kDriver: return driver_struck_ + callbacks_failed_ > 0;
    case Code::kNotReady: return driver_struck_ > 0;
    case Code::kIo: return machine_.disk().struck() > 0;
    // A page in host memory is lost where neither a device frame nor its host frame can be mapped at its address.
    case Code::kDataLoss: return machine_.disk().corrupted() || (setup_.host_frames && driver_struck_ > 0);
    default: return false;
  }
}

// With a wide margin: in whole pages, live blocks take at most three quarters of the device and of the host's share per
// device, and a step at most half of the device.
bool FuzzPlayer::has_room_for(const std::vector<FuzzBlock*>& step, Bytes more) const {
  if (struck() > 0 || pinned_ || by_hand_) return false;
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
    if (is_held_up(stream)) return false;  // it may hold memory for longer than a call waits
  }
  const auto pages_of = [](Bytes bytes) { return (bytes / kBasePage + 1) * kBasePage; };
  Bytes live = pages_of(more), at_once = pages_of(more);
  for (const FuzzBlock& block : blocks_) {
    if (block) live += pages_of(block.bytes);
  }
  for (const FuzzBlock* block : step) at_once += pages_of(block->bytes);
  const Bytes heap = device_left() + setup_.host / static_cast<std::uint64_t>(setup_.devices);
  return live <= heap / 4 * 3 && at_once <= device_left() / 2;
}

void FuzzPlayer::expect_room(const char* call, const Status& status, bool has_room) {
  const bool refused = status.code() == Code::kOutOfMemory || status.code() == Code::kBusy;
  note_struck();
  if (refused && has_room && struck() == 0) fail(fmt::format("{} found no room: {}", call, status.to_string()));
}

bool FuzzPlayer::passed(const char* call, const Status& status) {
  note_struck();
  digest_ = (digest_ ^ static_cast<std::uint64_t>(status.code())) * 0x100000001b3;
  if (status.is_ok()) return true;
  ++errors_;
  if (!explained(status)) fail(fmt::format("{} returned {}", call, status.to_string()));
  return false;
}

void FuzzPlayer::expect_wrong(const char* call, const Status& status) {
  const bool refused = status.code() == Code::kNotFound || status.code() == Code::kInvalidArgument;
  if (!refused) fail(fmt::format("{} with a wrong address returned {}", call, status.to_string()));
}

void FuzzPlayer::note_struck() {
  const std::uint64_t failed = machine_.faults().failed();
  if (!driver_trouble_ || failed == driver_noted_) return;
  driver_struck_ += failed - driver_noted_;
  driver_noted_ = failed;
  switch (*driver_trouble_) {
    case DriverCall::kRelease:
    case DriverCall::kUnmap:
    case DriverCall::kDestroyFrame:
    case DriverCall::kUnregisterHost:
    case DriverCall::kDestroyStream:
    case DriverCall::kDestroyEvent: may_leak_ = true; break;
    default: break;
  }
}

// Does the work of the pump's thread.
void FuzzPlayer::look() {
  machine_.allocator().heaps().advance();
  if (const auto violation = machine_.violation()) fail(*violation);
  const Status valid = machine_.allocator().validate();
  if (!valid.is_ok()) fail(fmt::format("validation failed: {}", valid.to_string()));
  digest_ = (digest_ ^ machine_.clock().now().value()) * 0x100000001b3;
}

// ---- streams ------------------------------------------------------------------------------------

std::uint32_t FuzzPlayer::number_of(const FuzzOp& op) const {
  const std::uint32_t device = op.slots[0] % static_cast<std::uint32_t>(setup_.devices);
  return device * setup_.streams + op.stream;
}

DeviceId FuzzPlayer::device_of(std::uint32_t stream) const { return DeviceId(stream / setup_.streams); }

void FuzzPlayer::follow(std::uint32_t stream, std::uint32_t earlier) {
  held_until_[stream] = std::max(held_until_[stream], held_until_[earlier]);
  if (stream != earlier) follow(streams_[stream], earlier);
}

void FuzzPlayer::follow(StreamId stream, std::uint32_t earlier) {
  if (stream == streams_[earlier]) return;
  SimDriver& sim = machine_.sim();
  const Result<EventId> event = sim.create_event(device_of(earlier));
  if (!passed("create_event", event.status())) return;
  passed("record_event", sim.record_event(event.value(), streams_[earlier]));
  passed("wait_event", sim.wait_event(stream, event.value()));
  passed("destroy_event", sim.destroy_event(event.value()));
}

void FuzzPlayer::follow_all(std::uint32_t stream, StreamSet earlier) {
  for (std::uint32_t other = 0; other < streams_.size(); ++other) {
    if (earlier.test(other)) follow(stream, other);
  }
}

void FuzzPlayer::end_context(const FuzzOp& op) {
  FuzzOp each = op;
  for (each.stream = 0; each.stream < setup_.streams; ++each.stream) end_stream(each);
}

void FuzzPlayer::end_stream(const FuzzOp& op) {
  const std::uint32_t number = number_of(op);
  const bool announced = op.variant % 2 == 0;
  if (announced) passed("retire_stream", machine_.allocator().streams().retire(streams_[number]));
  SimDriver& sim = machine_.sim();
  const Result<StreamId> next = sim.create_stream(device_of(number));
  if (!passed("create_stream", next.status())) return;
  const StreamId old = std::exchange(streams_[number], next.value());
  const Result<EventId> event = sim.create_event(device_of(number));
  if (!passed("create_event", event.status())) return;
  passed("record_event", sim.record_event(event.value(), old));
  passed("wait_event", sim.wait_event(next.value(), event.value()));
  passed("destroy_event", sim.destroy_event(event.value()));
  passed("destroy_stream", sim.destroy_stream(old));
}

// ---- blocks -------------------------------------------------------------------------------------

FuzzBlock* FuzzPlayer::block_at(const FuzzOp& op, std::size_t operand) {
  FuzzBlock& block = blocks_[op.slots[operand]];
  return block ? &block : nullptr;
}

void FuzzPlayer::allocate(const FuzzOp& op) {
  FuzzBlock& block = blocks_[op.slots[0]];
  if (block) return;
  const std::uint32_t number = number_of(op);
  const StreamId stream = op.variant == 0 ? kNoStream : streams_[number];
  passed("push", TagStack::push(tags_[op.tag]));
  const bool has_room = has_room_for({}, op.bytes);
  const Result<Address> address = machine_.allocator().allocate(device_of(number), op.bytes, stream);
  expect_room("allocate", address.status(), has_room);
  passed("pop", TagStack::pop());
  if (!passed("allocate", address.status())) return;
  block = {.address = address.value(), .bytes = op.bytes, .writer = number};
  block.users.set(number);
}

void FuzzPlayer::free(const FuzzOp& op) {
  FuzzBlock* const block = block_at(op);
  if (block != nullptr) free(*block, number_of(op), op.variant % 4);
}

void FuzzPlayer::free(FuzzBlock& block, std::uint32_t stream, std::uint32_t way) {
  if (block.mappable) return end_mapped(block);
  Allocator& allocator = machine_.allocator();
  Status freed;
  if (way == 0) {  // no queued work uses it any more
    await_users(block);
    freed = allocator.free(block.address, kNoStream);
  } else if (way == 1) {
    std::vector<StreamId> users;
    for (std::uint32_t user = 0; user < streams_.size(); ++user) {
      if (block.users.test(user)) users.push_back(streams_[user]);
    }
    freed = allocator.free_after(block.address, users);
  } else {
    follow_all(stream, block.users);
    freed = allocator.free(block.address, streams_[stream]);
  }
  if (passed("free", freed)) block = {};
}

// ---- hints --------------------------------------------------------------------------------------

void FuzzPlayer::hint(const FuzzOp& op) {
  std::vector<Address> addresses;
  for (const FuzzBlock* block : operands_of(op)) addresses.push_back(block->address);
  if (op.kind == Kind::kPrefetch) passed("prefetch", machine_.allocator().hints().prefetch(addresses));
  if (op.kind == Kind::kEvict) passed("evict", machine_.allocator().hints().evict(addresses));
}

void FuzzPlayer::pin(const FuzzOp& op) {
  FuzzBlock* const block = block_at(op);
  if (block == nullptr) return;
  Allocator& allocator = machine_.allocator();
  if (op.kind == Kind::kUnpin) {
    if (block->pins > 0 && passed("unpin", allocator.pins().unpin(block->address))) --block->pins;
    return;
  }
  // Most of the device stays free, or nothing interesting would happen.
  Bytes kept;
  for (const FuzzBlock& other : blocks_) {
    if (other.pins > 0 || other.exposed) kept += other.bytes;
  }
  if (kept + block->bytes > setup_.device / 4) return;
  pinned_ = true;
  if (op.kind == Kind::kPin) {
    if (passed("pin", allocator.pins().pin(block->address))) ++block->pins;
  } else if (passed("expose", allocator.pins().expose(block->address, "fuzz"))) {
    block->exposed = true;
  }
}

void FuzzPlayer::sleep_or_wake(const FuzzOp& op) {
  const char* const tag = op.variant == 0 ? nullptr : tag_name(op.tag);
  Allocator& allocator = machine_.allocator();
  const Result<Moved> moved = op.kind == Kind::kSleep ? allocator.hints().sleep(tag) : allocator.hints().wake(tag);
  passed(op.kind == Kind::kSleep ? "sleep" : "wake", moved.status());
}

// ---- wrong calls and faults ---------------------------------------------------------------------

void FuzzPlayer::call_wrongly(const FuzzOp& op) {
  Allocator& allocator = machine_.allocator();
  const Address nowhere(op.bytes.value());
  switch (op.variant) {
    case 0: return expect_wrong("free", allocator.free(nowhere, stream(op.stream)));
    case 1: return expect_wrong("evict", allocator.hints().evict({&nowhere, 1}));
    case 2: return expect_wrong("touch", allocator.uses().touch(nowhere, stream(op.stream), Access::kRead));
    case 3: return expect_wrong("sleep", allocator.hints().sleep("no such tag").status());
    default: break;
  }
  const FuzzBlock* const block = block_at(op);
  if (block == nullptr || block->bytes < 2_B) return;
  const Address inside = block->address + 1_B;
  if (op.variant < 6) return expect_wrong("free", allocator.free(inside, stream(op.stream)));
  // Pins belong to runs: the small blocks of a page share them, and they outlive the block.
  if (!pinned_) expect_wrong("unpin", allocator.pins().unpin(block->address));
}

void FuzzPlayer::make_trouble(const FuzzOp& op) {
  switch (op.kind) {
    case Kind::kDriverFault: {
      Status status(Code::kDriver, "injected", native::kUnknown);
      if (op.call == DriverCall::kCreateFrame && op.variant % 2 != 0) {
        status = Status(Code::kOutOfMemory, "injected", native::kOutOfMemory);
      }
      if (op.call == DriverCall::kSetAccess && op.variant % 2 != 0) {
        status = Status(Code::kNotReady, "injected", native::kNotReady);
      }
      note_struck();
      driver_trouble_ = op.call;
      driver_noted_ = 0;
      return machine_.faults().fail({op.call, op.nth, status, op.variant == 0});
    }
    case Kind::kDiskFault: return machine_.disk().arm(op.fault, static_cast<int>(op.nth));
    case Kind::kHostFault: ++host_troubles_; return machine_.host_pages().refuse(true);
    case Kind::kLateCopies: return machine_.driver().delay_copies(static_cast<int>(op.nth), op.time);
    default: return;
  }
}

void FuzzPlayer::play(const FuzzOp& op) {
  threads_.run(op.thread, [this, &op] { carry_out(op); });
  note_struck();
  look();
}

void FuzzPlayer::carry_out(const FuzzOp& op) {
  switch (op.kind) {
    case Kind::kAllocate: allocate(op); break;
    case Kind::kFree: free(op); break;
    case Kind::kMap: map(op); break;
    case Kind::kUse: use(op, false); break;
    case Kind::kBlockingUse: use(op, true); break;
    case Kind::kUnseenUse: use_unseen(op); break;
    case Kind::kUnseenAlone: use_alone(op); break;
    case Kind::kHoldUp: hold_up(op); break;
    case Kind::kLoadingUse: use_loading(op); break;
    case Kind::kAcross: use_across(op); break;
    case Kind::kLoop: loop(op); break;
    case Kind::kDwell: dwell(op); break;
    case Kind::kRepeatPattern: repeat_pattern(op); break;
    case Kind::kSetPolicy: set_policy(op); break;
    case Kind::kPrefetch:
    case Kind::kEvict: hint(op); break;
    case Kind::kPin:
    case Kind::kUnpin:
    case Kind::kExpose: pin(op); break;
    case Kind::kCut: cut(op); break;
    case Kind::kSetRecompute: set_recompute(op); break;
    case Kind::kSleep:
    case Kind::kWake: sleep_or_wake(op); break;
    case Kind::kTrim: passed("trim", machine_.allocator().driver_memory().trim()); break;
    case Kind::kIdle: machine_.clock().run_until(machine_.clock().now() + op.time); break;
    case Kind::kEndStream: end_stream(op); break;
    case Kind::kEndContext: end_context(op); break;
    case Kind::kDriverTake: take_for_driver(op); break;
    case Kind::kDriverGive: give_to_driver(op); break;
    case Kind::kAutomatic:
      by_hand_ = true;
      passed("set_automatic", machine_.allocator().heaps().set_automatic(op.variant % 4 != 0));
      break;
    case Kind::kWrong: call_wrongly(op); break;
    case Kind::kStopFaults:
      note_struck();
      machine_.make_peace();
      break;
    default: make_trouble(op); break;
  }
}

// ---- the end ------------------------------------------------------------------------------------

void FuzzPlayer::settle() {
  for (int i = 0; i < kMaxLooks && !failure_; ++i) {
    const bool busy = machine_.allocator().heaps().advance();
    if (!machine_.clock().step() && !busy) return;
  }
  if (!failure_) fail("moves that do not end");
}

void FuzzPlayer::finish() {
  note_struck();
  calm_ = true;
  machine_.make_peace();
  give_all_to_driver();
  passed("set_automatic", machine_.allocator().heaps().set_automatic(true));
  settle();
  threads_.end();
  for (FuzzBlock& block : blocks_) {
    for (; block.pins > 0; --block.pins) passed("unpin", machine_.allocator().pins().unpin(block.address));
  }
  for (FuzzBlock& block : blocks_) {
    FuzzOp read;
    const std::size_t parts = std::max<std::size_t>(block.parts.size(), 1);
    for (read.variant = 0; read.variant < parts && block && !failure_; ++read.variant) {
      use({&block}, 0, read, block.writer, true);
      look();
    }
  }
  for (FuzzBlock& block : blocks_) {
    if (!block || failure_) continue;
    free(block, block.writer, 0);
    look();
  }
  if (!failure_) end_segments();
  if (!failure_) passed("trim", machine_.allocator().driver_memory().trim());
  settle();
  look();
}

}  // namespace tessera
