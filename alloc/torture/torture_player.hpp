// Executes the operations of a fuzz program: the program's side of the allocator's calls.
//
// Threads of a program are interleaved between calls, in the order of the list (torture_threads.hpp); within a call
// only events of virtual time happen. They end before the program does.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "torture/torture_blocks.hpp"
#include "torture/torture_machine.hpp"
#include "torture/torture_threads.hpp"

namespace tessera {

class TorturePlayer {
 public:
  // REQUIRES: `machine` outlives it.
  TorturePlayer(const TortureSetup& setup, TortureMachine& machine);
  ~TorturePlayer();
  TorturePlayer(const TorturePlayer&) = delete;
  TorturePlayer& operator=(const TorturePlayer&) = delete;

  void play(const TortureOp& op);
  // Ends all faults, reads every remaining block once more, and frees it.
  void finish();
  // The first failure.
  const std::optional<std::string>& failure() const { return failure_; }
  std::uint64_t errors() const { return errors_; }  // calls that returned an error
  std::uint64_t struck() const;                     // injected faults that took effect
  std::uint64_t policies_set() const { return policies_set_; }
  // Changes with everything that the program observes.
  std::uint64_t digest() const { return digest_; }
  // Whether a releasing call was made to fail, so that something may be left behind.
  bool may_leak() const { return may_leak_; }

 private:
  void carry_out(const TortureOp& op);
  void fail(std::string what);
  // Whether the call succeeded; an error without a cause is a failure.
  bool passed(const char* call, const Status& status);
  bool explained(const Status& status) const;
  // Whether there must be room for these blocks at once, and for `more` bytes.
  bool has_room_for(const std::vector<TortureBlock*>& step, Bytes more) const;
  void expect_room(const char* call, const Status& status, bool has_room);
  void expect_wrong(const char* call, const Status& status);
  void look();

  StreamId stream(std::uint32_t number) const { return streams_[number % streams_.size()]; }
  std::uint32_t number_of(const TortureOp& op) const;
  DeviceId device_of(std::uint32_t stream) const;
  void follow(std::uint32_t stream, std::uint32_t earlier);
  void follow(StreamId stream, std::uint32_t earlier);
  void follow_all(std::uint32_t stream, StreamSet earlier);
  std::vector<Address> doubtful_words(const std::vector<TortureBlock*>& used, const TortureOp& op);
  TortureBlock* block_at(const TortureOp& op, std::size_t operand = 0);
  TortureBlock& block_behind(const TortureOp& op, std::uint32_t n);
  std::vector<TortureBlock*> operands_of(const TortureOp& op);

  void allocate(const TortureOp& op);
  void free(const TortureOp& op);
  void free(TortureBlock& block, std::uint32_t stream, std::uint32_t way);
  void use(const TortureOp& op, bool blocking);
  void use_unseen(const TortureOp& op);
  void hold_up(const TortureOp& op);
  bool is_held_up(std::uint32_t stream) const { return held_until_[stream] > machine_.clock().now(); }
  bool is_on(DeviceId device, const TortureBlock& block) const;
  void use_across(const TortureOp& op);
  bool use(const std::vector<TortureBlock*>& blocks, std::size_t written, const TortureOp& op,
           std::uint32_t stream, bool blocking);
  void loop(const TortureOp& op);
  void refrain(const TortureOp& op);
  void set_policy(const TortureOp& op);
  void hint(const TortureOp& op);
  void set_recompute(const TortureOp& op);
  struct Recipe;
  Status recompute(const Recipe& recipe, Stamp leaves, StreamId on);
  void pin(const TortureOp& op);
  void sleep_or_wake(const TortureOp& op);
  void end_stream(const TortureOp& op);
  void end_context(const TortureOp& op);
  // torture_driver_calls.cpp
  void use_loading(const TortureOp& op);
  void take_for_driver(const TortureOp& op);
  void give_to_driver(const TortureOp& op);
  void give_all_to_driver();
  // A call of the program's to the driver, as the preload library makes it. `attempt(ours)` sets `ours` where it failed
  // before the driver was asked. `need`: what it says that it takes.
  using Attempt = std::function<Status(bool&)>;
  Status with_driver_room(DeviceId device, std::optional<Bytes> need, const Attempt& attempt);
  Status take_frame(DeviceId device, Bytes bytes);
  Bytes driver_part(const TortureOp& op, DeviceId device) const;
  Bytes taken_of(DeviceId device) const;
  // What the heap of any device can have beside the driver.
  Bytes device_left() const;
  void call_wrongly(const TortureOp& op);
  void make_trouble(const TortureOp& op);
  void note_struck();
  void settle();

  const TortureSetup setup_;
  TortureMachine& machine_;
  TortureThreads threads_{TortureProgram::kThreads};
  std::vector<StreamId> streams_;  // those of one device, then those of the next
  std::array<TagId, TortureProgram::kTags> tags_{};
  std::vector<Nanoseconds> held_until_;  // per stream: work on it may wait for a kernel until this time
  TortureBlocks blocks_;
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
  std::vector<Taken> taken_;   // by the driver, at the moment
  bool was_short_ = false;     // the driver was, once
  bool pinned_ = false;     // something was, once
  bool by_hand_ = false;    // blocks did not leave by themselves, once
  bool calm_ = false;    // callbacks fail no more
  std::uint64_t callbacks_failed_ = 0;
  std::uint64_t policies_set_ = 0;
  std::uint64_t errors_ = 0;
  std::uint64_t digest_ = 0;
  std::optional<std::string> failure_;
};

}  // namespace tessera
