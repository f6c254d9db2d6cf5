// Executes the operations of a fuzz program: the program's side of the allocator's calls.
//
// Threads of a program are interleaved between calls, in the order of the list (fuzz_threads.hpp); within a call
// only events of virtual time happen. They end before the program does.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/fuzz/fuzz_blocks.hpp"
#include "lab/fuzz/fuzz_machine.hpp"
#include "lab/fuzz/fuzz_threads.hpp"

namespace tessera {

class FuzzPlayer {
 public:
  // REQUIRES: `machine` outlives it.
  FuzzPlayer(const FuzzSetup& setup, FuzzMachine& machine);
  ~FuzzPlayer();
  FuzzPlayer(const FuzzPlayer&) = delete;
  FuzzPlayer& operator=(const FuzzPlayer&) = delete;

  void play(const FuzzOp& op);
  // Ends all faults, reads every remaining block once more, and frees it.
  void finish();
  // The first failure.
  const std::optional<std::string>& failure() const { return failure_; }
  std::uint64_t errors() const { return errors_; }  // calls that returned an error
  std::uint64_t struck() const;                     // injected faults that took effect
  std::uint64_t policies_set() const { return policies_set_; }
  // Kernels that used a block unseen and alone, and those of them that faulted.
  std::uint64_t alone() const { return alone_; }
  std::uint64_t faulted() const { return faulted_; }
  // Changes with everything that the program observes.
  std::uint64_t digest() const { return digest_; }
  // Whether a releasing call was made to fail, so that something may be left behind.
  bool may_leak() const { return may_leak_; }

 private:
  void carry_out(const FuzzOp& op);
  void fail(std::string what);
  // Whether the call succeeded; an error without a cause is a failure.
  bool passed(const char* call, const Status& status);
  bool explained(const Status& status) const;
  // Whether there must be room for all of these blocks at once, and for `more` bytes.
  bool has_room_for(const std::vector<FuzzBlock*>& step, Bytes more) const;
  void expect_room(const char* call, const Status& status, bool has_room);
  void expect_wrong(const char* call, const Status& status);
  void look();

  StreamId stream(std::uint32_t number) const { return streams_[number % streams_.size()]; }
  std::uint32_t number_of(const FuzzOp& op) const;
  DeviceId device_of(std::uint32_t stream) const;
  void follow(std::uint32_t stream, std::uint32_t earlier);
  void follow(StreamId stream, std::uint32_t earlier);
  void follow_all(std::uint32_t stream, StreamSet earlier);
  std::vector<Address> doubtful_words(const std::vector<FuzzBlock*>& used, const FuzzOp& op);
  FuzzBlock* block_at(const FuzzOp& op, std::size_t operand = 0);
  FuzzBlock& block_behind(const FuzzOp& op, std::uint32_t n);
  std::vector<FuzzBlock*> operands_of(const FuzzOp& op);

  void allocate(const FuzzOp& op);
  void free(const FuzzOp& op);
  void free(FuzzBlock& block, std::uint32_t stream, std::uint32_t way);
  // fuzz_mapping.cpp
  void map(const FuzzOp& op);
  void make_mapped(const FuzzOp& op, FuzzBlock& block);
  void move(const FuzzOp& op, FuzzBlock& block);
  std::optional<Address> place_in_segment(const FuzzOp& op, const FuzzBlock& block);
  void end_segments();
  void end_mapped(FuzzBlock& block);
  void give_addresses_back(FuzzBlock& block);
  void await_users(const FuzzBlock& block);
  void use(const FuzzOp& op, bool blocking);
  void use_unseen(const FuzzOp& op);
  void use_alone(const FuzzOp& op);
  void hold_up(const FuzzOp& op);
  bool is_held_up(std::uint32_t stream) const { return held_until_[stream] > machine_.clock().now(); }
  bool is_on(DeviceId device, const FuzzBlock& block) const;
  void use_across(const FuzzOp& op);
  bool use(const std::vector<FuzzBlock*>& blocks, std::size_t written, const FuzzOp& op, std::uint32_t stream,
           bool blocking);
  void loop(const FuzzOp& op);
  void dwell(const FuzzOp& op);
  void repeat_pattern(const FuzzOp& op);
  void set_policy(const FuzzOp& op);
  void hint(const FuzzOp& op);
  void set_recompute(const FuzzOp& op);
  void cut(const FuzzOp& op);
  void cut_into_objects(const FuzzOp& op, FuzzBlock& block);
  static std::vector<FuzzPart> parts_of(const FuzzOp& op, const FuzzBlock& block);
  static void set_parts(FuzzBlock& block, std::vector<FuzzPart> parts);
  struct Recipe;
  Status recompute(const Recipe& recipe, Stamp leaves, StreamId on);
  void pin(const FuzzOp& op);
  void sleep_or_wake(const FuzzOp& op);
  void end_stream(const FuzzOp& op);
  void end_context(const FuzzOp& op);
  // fuzz_driver_calls.cpp
  void use_loading(const FuzzOp& op);
  void take_for_driver(const FuzzOp& op);
  void give_to_driver(const FuzzOp& op);
  void give_all_to_driver();
  // A call of the program to the driver, made as the preload library makes it. `attempt(ours)` sets `ours` if it failed
  // before it called the driver. `need`: the bytes that the call states.
  using Attempt = std::function<Status(bool&)>;
  Status with_driver_room(DeviceId device, std::optional<Bytes> need, const Attempt& attempt);
  Status take_frame(DeviceId device, Bytes bytes);
  Bytes driver_part(const FuzzOp& op, DeviceId device) const;
  Bytes taken_of(DeviceId device) const;
  // The bytes that the driver leaves to the heap of any device.
  Bytes device_left() const;
  void call_wrongly(const FuzzOp& op);
  void make_trouble(const FuzzOp& op);
  void note_struck();
  void settle();

  const FuzzSetup setup_;
  FuzzMachine& machine_;
  FuzzThreads threads_{FuzzProgram::kThreads};
  std::vector<StreamId> streams_;  // those of one device, then those of the next
  std::array<TagId, FuzzProgram::kTags> tags_{};
  std::vector<Nanoseconds> held_until_;  // per stream: work on it may wait for a kernel until this time
  FuzzBlocks blocks_;
  static constexpr Bytes kSegment = 512_MiB;
  std::array<Address, FuzzProgram::kMostDevices> segments_{};  // where blocks are mapped side by side
  std::vector<FuzzBlock> lost_;  // blocks whose addresses in a segment cannot be used again
  Stamp last_stamp_ = 0;
  std::uint64_t driver_struck_ = 0;
  std::uint64_t driver_noted_ = 0;  // of those, by the current fault
  std::uint64_t host_troubles_ = 0;
  std::optional<DriverCall> driver_trouble_;
  bool may_leak_ = false;
  struct Taken {
    DeviceId device;
    FrameId frame;
    Bytes bytes;
  };
  std::vector<Taken> taken_;  // by the driver now
  bool was_short_ = false;    // the driver has been short of memory
  bool pinned_ = false;       // a block has been pinned
  bool by_hand_ = false;      // automatic eviction has been off
  bool calm_ = false;         // callbacks no longer fail
  std::uint64_t callbacks_failed_ = 0;
  std::uint64_t policies_set_ = 0;
  std::uint64_t alone_ = 0;
  std::uint64_t faulted_ = 0;
  std::uint64_t errors_ = 0;
  std::uint64_t digest_ = 0;
  std::optional<std::string> failure_;
};

}  // namespace tessera
