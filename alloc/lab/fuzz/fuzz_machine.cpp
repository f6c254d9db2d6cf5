#include "lab/fuzz/fuzz_machine.hpp"

#include <cerrno>
#include <utility>

#include <fmt/core.h>

namespace tessera {
namespace {

Machine machine_of(const FuzzSetup& setup) {
  return {.device = setup.device,
          .file = setup.file,
          .out_rate = 25e9,
          .in_rate = 25e9,
          .file_write_rate = 3e9,
          .file_read_rate = 6e9,
          .peer = setup.lent,
          .peer_rate = 50e9};
}

SimOptions device_options(const FuzzSetup& setup) {
  SimOptions options = sim_options(machine_of(setup), setup.devices + setup.lenders - 1);
  options.peer_links_apart = setup.lenders > 1;
  if (setup.apart) options.apart = {{0, setup.devices}};
  options.host_frames = setup.host_frames;
  if (setup.low_addresses) options.first_address = Address(0x3'0200'0000);
  options.name = "Tessera fuzz device";
  return options;
}

Options allocator_options(const FuzzSetup& setup) {
  Options options;
  options.device_memory = setup.device;
  for (int i = 0; setup.lent && i < setup.lenders; ++i) {
    options.peer_memory += fmt::format("{}{}:{}", i == 0 ? "" : ",", setup.devices + i, setup.lent.value());
  }
  options.host_memory = setup.host;
  options.policy = setup.policy;
  options.low_watermark = setup.low;
  options.high_watermark = setup.high;
  options.patience = 10'000;  // far longer than all queued work, far shorter than a long-running kernel
  options.log_level = "quiet";
  return options;
}

}  // namespace

bool RefusedHostPages::open(void*, Bytes) {
  if (refused_) errno = ENOMEM;
  return !refused_;
}

FuzzMachine::FuzzMachine(const FuzzSetup& setup) : sim_(device_options(setup), clock_), driver_(sim_, memory_) {}

FuzzMachine::~FuzzMachine() = default;

Result<std::unique_ptr<FuzzMachine>> FuzzMachine::create(const FuzzSetup& setup) {
  std::unique_ptr<FuzzMachine> machine(new FuzzMachine(setup));
  auto faults = std::make_unique<FaultDriver>(machine->driver_);
  const Machine rates = machine_of(setup);
  auto disk = std::make_unique<StampFileIo>(machine->clock_, machine->memory_, sim_speed(rates.file_read_rate),
                                            sim_speed(rates.file_write_rate));
  machine->faults_ = faults.get();
  machine->disk_ = disk.get();
  const auto digest = [memory = &machine->memory_](const void* host, Bytes bytes) {
    return memory->digest(host_place(host), bytes);
  };
  Foundations foundations{machine->clock_, std::move(faults),
                          std::make_unique<FileTier>(std::move(disk), setup.file, digest), machine->pages_, false};
  TESSERA_TRY_ASSIGN(machine->allocator_, Allocator::create(std::move(foundations), allocator_options(setup)));
  return machine;
}

void FuzzMachine::make_peace() {
  faults_->clear();
  disk_->arm(DiskFault::kNone, 1);
  pages_.refuse(false);
  driver_.delay_copies(0, {});
}

std::vector<std::string> FuzzMachine::end() {
  disk_violation_ = disk_->violation();
  allocator_.reset();
  faults_ = nullptr;
  disk_ = nullptr;
  return sim_.leaks();
}

std::optional<std::string> FuzzMachine::violation() const {
  if (driver_.violation()) return driver_.violation();
  return disk_ != nullptr ? disk_->violation() : disk_violation_;
}

}  // namespace tessera
