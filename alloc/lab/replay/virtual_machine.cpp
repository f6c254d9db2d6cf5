#include "lab/replay/virtual_machine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "policy/policy.hpp"

namespace tessera {
namespace {

// The polling interval of the pump's thread.
constexpr Nanoseconds kLook{100'000};
// For a replay with a timeline, which should be complete: this many events take about a hundred megabytes.
constexpr std::size_t kDrawnEvents = std::size_t{1} << 21;

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
  auto driver =
      std::make_unique<SimDriver>(SimOptions{.devices = static_cast<int>(devices + (options.peer_memory ? 1 : 0)),
                                             .memory = std::max(options.device_memory, options.peer_memory),
                                             .inbound = {options.h2d, {}},
                                             .outbound = {options.d2h, {}},
                                             .peer = {options.peer_rate, {}},
                                             .contents = SimContents::kNone,
                                             .name = "Tessera virtual device",
                                             .watcher = &machine->link_bytes_},
                                  clock);
  machine->driver_ = driver.get();
  if (drawn) machine->link_bytes_.pass_on_to(&machine->links_);
  auto disk =
      std::make_unique<VirtualFileIo>(clock, LinkSpeed{options.file_read, {}}, LinkSpeed{options.file_write, {}});
  machine->disk_ = disk.get();
  auto file = std::make_unique<FileTier>(std::move(disk), options.file_memory, checksum_of_nothing);
  Foundations foundations{clock, std::move(driver), std::move(file), machine->pages_, false, &machine->waits_};
  if (drawn) foundations.events = kDrawnEvents;
  TESSERA_TRY_ASSIGN(machine->allocator_,
                     Allocator::create(std::move(foundations), allocator_options(options, devices)));
  if (options.unseen_work) machine->allocator_->expect_unseen_work();
  return machine;
}

void VirtualMachine::look() {
  if (clock_.now() < next_look_) return;
  next_look_ = clock_.now() + kLook;
  allocator_->advance();
}

bool VirtualMachine::step() {
  const bool stepped = clock_.step();
  look();
  return stepped;
}

}  // namespace tessera
