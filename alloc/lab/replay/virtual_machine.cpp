#include "lab/replay/virtual_machine.hpp"

#include <utility>

#include <fmt/core.h>

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

// Identifies the device that programs share; 128 bits in hexadecimal.
constexpr const char* kSharedDevice = "7e55e7a0000000000000000000000000";

// The devices from `lender` on lend, and the program does not use them. Whole pages, so that a loan has no rest.
std::string loans_of(const ReplayOptions& options, std::uint32_t lender) {
  const Bytes each = options.peer_memory / options.lenders / kBasePage * kBasePage;
  if (options.lenders == 1) return fmt::format("{}:{}", lender, options.peer_memory.value());
  std::string loans;
  for (std::uint32_t i = 0; i < options.lenders; ++i) {
    loans += fmt::format("{}{}:{}", i == 0 ? "" : ",", lender + i, each.value());
  }
  return loans;
}

Options allocator_options(const ReplayOptions& options, std::uint32_t lender, const SharedPlace* place) {
  Options own;
  own.device_memory = options.device_memory;
  own.host_memory = options.host_memory;
  if (options.peer_memory) own.peer_memory = loans_of(options, lender);
  own.policy = with_seed(options.policy, options.seed);
  own.log_level = "quiet";
  own.share = "off";
  own.unhinted_access = options.unhinted ? "auto" : "off";
  if (place == nullptr) return own;
  if (place->use.shares) own.share = "on";
  own.time_slice = place->use.time_slice;
  own.node_weight = place->use.weight;
  if (place->use.limit) own.device_memory = std::min(place->use.limit, options.device_memory);
  return own;
}

}  // namespace

// Each program of a shared machine is as in a container of its own: whether another one lives, only its row says.
VirtualMachine::VirtualMachine(SharedMachine* shared)
    : shared_(shared),
      clock_(shared != nullptr ? shared->clock : own_clock_),
      process_{this_process().pid, shared != nullptr ? ++shared->programs : 0, 0} {}

Result<std::unique_ptr<VirtualMachine>> VirtualMachine::create(const ReplayOptions& options, std::uint32_t devices,
                                                               const SharedPlace* place) {
  SharedMachine* const shared = place != nullptr ? &place->machine : nullptr;
  std::unique_ptr<VirtualMachine> machine(new VirtualMachine(shared));
  VirtualClock& clock = machine->clock_;
  const bool drawn = !options.timeline.empty();
  const Machine simulated = machine_of(options);
  const std::uint32_t more_lenders = options.peer_memory ? options.lenders - 1 : 0;
  SimOptions device = sim_options(simulated, static_cast<int>(devices + more_lenders));
  device.peer_links_apart = options.lenders > 1;
  device.name = "Tessera virtual device";
  device.calls = {.frame = options.frame_time, .mapping = options.mapping_time, .copy_turn = options.copy_turn};
  device.watcher = &machine->link_bytes_;
  device.host_frames = options.host_frames;
  device.host_memory = options.host_memory;
  if (shared != nullptr) {
    device.memory = shared->memory;
    device.virtual_hardware = &shared->hardware;
    device.uuid = kSharedDevice;
  }
  auto driver = std::make_unique<SimDriver>(std::move(device), clock);
  machine->driver_ = driver.get();
  if (drawn) machine->link_bytes_.pass_on_to(&machine->links_);
  auto disk = sim_disk(clock, simulated, shared != nullptr ? &shared->disk : nullptr);
  machine->disk_ = disk.get();
  auto file = std::make_unique<FileTier>(std::move(disk), options.file_memory, checksum_of_nothing);
  Foundations foundations{clock, std::move(driver), std::move(file), machine->pages_, false, &machine->waits_};
  if (drawn) foundations.events = kDrawnEvents;
  if (shared != nullptr) foundations.ledgers = machine.get();
  TESSERA_TRY_ASSIGN(machine->allocator_,
                     Allocator::create(std::move(foundations), allocator_options(options, devices, place)));
  if (options.unseen_work) machine->allocator_->heaps().expect_unseen_work();
  return machine;
}

Result<std::unique_ptr<LedgerFile>> VirtualMachine::open(const Options&, const std::string&) {
  return shared_->ledger.open(dead_);
}

const DeviceShare* VirtualMachine::share() const {
  for (DeviceHeap* const heap : allocator_->heaps().all()) return heap->share();
  return nullptr;
}

// The pump waits too while it gives memory back: it is not to begin again meanwhile.
void VirtualMachine::look() {
  if (looks_) return;
  looks_ = true;
  if (pump_.is_due(clock_)) allocator_->heaps().advance();
  if (shared_ != nullptr && clock_.now() >= next_look_) {
    const std::chrono::nanoseconds until = allocator_->heaps().look_at_shares();
    next_look_ = clock_.now() + Nanoseconds(static_cast<std::uint64_t>(until.count()));
  }
  looks_ = false;
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
