#include "sim/machine_builder.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera {
namespace {

constexpr Nanoseconds kPumpInterval{100'000};

std::unique_ptr<PeerTier> peer_of(Driver& driver, const TierSizes& sizes) {
  if (!sizes.peer) return nullptr;
  std::vector<Loan> loans;
  for (std::uint32_t i = 1; i <= sizes.lenders; ++i) loans.push_back({DeviceId(i), sizes.peer / sizes.lenders});
  return std::make_unique<PeerTier>(driver, std::move(loans));
}

}  // namespace

LinkSpeed sim_speed(double rate) { return {static_cast<std::uint64_t>(rate), {}}; }

SimOptions sim_options(const Machine& machine, int devices) {
  return {.devices = devices + (has_peer(machine) ? 1 : 0),
          .memory = std::max(machine.device + machine.small, machine.peer),
          .inbound = sim_speed(machine.in_rate),
          .outbound = sim_speed(machine.out_rate),
          .peer = sim_speed(machine.peer_rate),
          .calls = {.mapping = machine.mapping, .copy_turn = machine.copy_turn},
          .contents = SimContents::kNone,
          .host_frames = false};  // plans move no page that kernels use in host memory
}

std::unique_ptr<VirtualFileIo> sim_disk(VirtualClock& clock, const Machine& machine, VirtualDisk* disk) {
  return std::make_unique<VirtualFileIo>(clock, sim_speed(machine.file_read_rate), sim_speed(machine.file_write_rate),
                                         disk);
}

std::unique_ptr<FileTier> sim_file(VirtualClock& clock, const Machine& machine) {
  return std::make_unique<FileTier>(sim_disk(clock, machine), machine.file, checksum_of_nothing);
}

bool SimPump::is_due(const Clock& clock) {
  const Nanoseconds now = clock.now();
  if (now < next_) return false;
  next_ = now + kPumpInterval;
  return true;
}

SimLayers::SimLayers(Driver& below, const Clock& clock, const TierSizes& sizes, std::unique_ptr<FileTier> file_tier,
                     HostPages& host_pages, std::size_t events)
    : driver(below),
      log(clock, events),
      device(driver, DeviceId(), sizes.device),
      host(driver, sizes.host, sizes.staging.value_or(HostTier::staging_for(sizes.host, file_tier->usage().capacity)),
           host_pages, sizes.shares_host ? &host_pages : nullptr),
      file(std::move(file_tier)),
      backing(sizes.backing ? std::make_unique<BackingTier>(driver, DeviceId(), sizes.backing) : nullptr),
      peer(peer_of(driver, sizes)),
      zero_copy(sizes.zero_copy ? std::make_unique<ZeroCopyTier>(driver, DeviceId(), host) : nullptr) {}

Status SimLayers::add_residency(std::unique_ptr<Policy> policy, const ResidencyOptions& options) {
  TESSERA_TRY_ASSIGN(residency, Residency::create(driver, DeviceId(), tiers(), std::move(policy), log, options));
  return {};
}

Status SimLayers::add_pages(Bytes heap, Bytes least) {
  TESSERA_TRY_ASSIGN(pages, PageManager::create(driver, *residency, heap, least));
  return {};
}

void SimLayers::add_blocks(const BlockCacheOptions& options) {
  blocks = std::make_unique<BlockCache>(*residency, *pages, options);
}

}  // namespace tessera
