#include "replay/virtual_machine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "policy/policy.hpp"
#include "tier/virtual_file_io.hpp"

namespace tessera {
namespace {

// As often as the pump's thread looks.
constexpr Nanoseconds kLook{100'000};
// Of a replay that is drawn, which shall be all of it: of so many events the log takes about a hundred megabytes.
constexpr std::size_t kDrawnEvents = std::size_t{1} << 21;

std::unique_ptr<FileTier> make_file(VirtualClock& clock, const ReplayOptions& options) {
  auto io = std::make_unique<VirtualFileIo>(clock, LinkSpeed{options.file_read, {}},
                                            LinkSpeed{options.file_write, {}});
  return std::make_unique<FileTier>(std::move(io), options.file_memory, checksum_of_nothing);
}

// Device `lender` is one that no program uses.
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

Result<std::unique_ptr<VirtualMachine>> VirtualMachine::create(const ReplayOptions& options,
                                                               std::uint32_t devices) {
  std::unique_ptr<VirtualMachine> machine(new VirtualMachine);
  VirtualClock& clock = machine->clock_;
  const bool drawn = !options.timeline.empty();
  auto driver = std::make_unique<SimDriver>(
      SimOptions{.devices = static_cast<int>(devices + (options.peer_memory ? 1 : 0)),
                 .memory = std::max(options.device_memory, options.peer_memory),
                 .inbound = {options.h2d, {}},
                 .outbound = {options.d2h, {}},
                 .peer = {options.peer_rate, {}},
                 .contents = SimContents::kNone,
                 .name = "Tessera virtual device",
                 .watcher = drawn ? &machine->links_ : nullptr},
      clock);
  machine->driver_ = driver.get();
  Foundations foundations{clock, std::move(driver), make_file(clock, options), machine->pages_,
                          false, &machine->waits_};
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
