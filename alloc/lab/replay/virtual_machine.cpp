#include "lab/replay/virtual_machine.hpp"

#include <utility>

#include <fmt/format.h>

#include "policy/policy.hpp"

namespace tessera {
namespace {

// For a replay with a timeline, which should be complete: this many events take about a hundred megabytes.
constexpr std::size_t kDrawnEvents = std::size_t{1} << 21;

Machine machine_of(const ReplayOptions& options) {
  const auto rate = [](std::uint64_t bytes_per_second) { return static_cast<double>(bytes_per_second); };
  return {.device = options.device_memory,
          .file = options.file_memory,
          .out_rate = rate(options.d2h),
          .in_rate = rate(options.h2d),
          .file_write_rate = rate(options.file_write),
          .file_read_rate = rate(options.file_read),
          .peer = options.peer_memory,
          .peer_rate = rate(options.peer_rate)};
}

// `lender` is a device that the program does not use.
Options allocator_options(const ReplayOptions& options, std::uint32_t lender) {
  Options own;
  own.device_memory = options.device_memory;
  own.host_memory = options.host_memory;
  if (options.peer_memory) own.peer_memory = fmt::format("{}:{}", lender, options.peer_memory.value());
  own.policy = with_seed(options.policy, options.seed);
  own.log_level = "quiet";
  return own;
}

}  // namespace

Result<std::unique_ptr<VirtualMachine>> VirtualMachine::create(const ReplayOptions& options, std::uint32_t devices) {
  std::unique_ptr<VirtualMachine> machine(new VirtualMachine);
  VirtualClock& clock = machine->clock_;
  const bool drawn = !options.timeline.empty();
  const Machine simulated = machine_of(options);
  SimOptions device = sim_options(simulated, static_cast<int>(devices));
  device.name = "Tessera virtual device";
  device.calls = {.frame = options.frame_time, .mapping = options.mapping_time, .copy_turn = options.copy_turn};
  device.watcher = &machine->link_bytes_;
  auto driver = std::make_unique<SimDriver>(std::move(device), clock);
  machine->driver_ = driver.get();
  if (drawn) machine->link_bytes_.pass_on_to(&machine->links_);
  auto disk = sim_disk(clock, simulated);
  machine->disk_ = disk.get();
  auto file = std::make_unique<FileTier>(std::move(disk), options.file_memory, checksum_of_nothing);
  Foundations foundations{clock, std::move(driver), std::move(file), machine->pages_, false, &machine->waits_};
  if (drawn) foundations.events = kDrawnEvents;
  TESSERA_TRY_ASSIGN(machine->allocator_,
                     Allocator::create(std::move(foundations), allocator_options(options, devices)));
  if (options.unseen_work) machine->allocator_->heaps().expect_unseen_work();
  return machine;
}

void VirtualMachine::look() {
  if (pump_.is_due(clock_)) allocator_->heaps().advance();
}

bool VirtualMachine::step() {
  const bool stepped = clock_.step();
  look();
  return stepped;
}

void VirtualMachine::pass(Nanoseconds time) {
  const Nanoseconds until = clock_.now() + time;
  while (clock_.step_within(until)) look();
  clock_.run_until(until);
  look();
}

}  // namespace tessera
