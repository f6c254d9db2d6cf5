// Builds a machine on the simulated device. Replay, fuzz, plan simulations, tests and benchmarks use it and add only
// what is their own: faults, stamps, contents, traces.
//
// Thread safety: SimLayers as its members; the others are functions.
#pragma once

#include <memory>
#include <optional>

#include "base/virtual_clock.hpp"
#include "block/block_cache.hpp"
#include "observe/event_log.hpp"
#include "page/page_manager.hpp"
#include "planning/offload_interval.hpp"
#include "residency/residency.hpp"
#include "sim/sim_options.hpp"
#include "sim/virtual_file_io.hpp"
#include "tier/host_pages.hpp"
#include "tier/tier_stack.hpp"

namespace tessera {

// Devices without contents, with the memory and the links of `machine`. If it has a peer, that is one more device.
SimOptions sim_options(const Machine& machine, int devices = 1);
// A link at this rate, in bytes per second; at zero it takes no time.
LinkSpeed sim_speed(double rate);
// A disk with the rates of `machine`, which moves no bytes. `disk`: what others use too, or null.
std::unique_ptr<VirtualFileIo> sim_disk(VirtualClock& clock, const Machine& machine, VirtualDisk* disk = nullptr);
// A file tier on it.
std::unique_ptr<FileTier> sim_file(VirtualClock& clock, const Machine& machine);

// The pump's polling in virtual time, where no thread can do it.
class SimPump {
 public:
  // Whether the pump's thread would run now.
  bool is_due(const Clock& clock);

 private:
  Nanoseconds next_{};
};

// What each tier of a device may hold. 0: nothing.
struct TierSizes {
  Bytes device{};
  Bytes host{};
  std::optional<Bytes> staging{};  // HostTier::staging_for(host and file) if not set
  Bytes backing{};                 // replaces host and file
  Bytes peer{};                    // lent by the devices from 1 on, in equal parts; the caller admits device 0 to it
  bool zero_copy = false;          // whether pages may be used in host memory
  bool shares_host = false;        // host memory is in pieces as where several programs share it
  std::uint32_t lenders = 1;
};

// The tiers of device 0 and the layers over them, assembled bottom-up as far as the caller needs them. Destroyed
// top-down.
struct SimLayers {
  // REQUIRES: all references outlive it. `events` is the number of events that the log keeps.
  SimLayers(Driver& driver, const Clock& clock, const TierSizes& sizes, std::unique_ptr<FileTier> file,
            HostPages& host_pages = system_host_pages(), std::size_t events = 1);

  // In this order. Errors: those of what is created.
  Status add_residency(std::unique_ptr<Policy> policy, const ResidencyOptions& options = {});
  Status add_pages(Bytes heap, Bytes least);
  void add_blocks(const BlockCacheOptions& options = {});
  TierStack tiers() { return {device, host, *file, backing.get(), peer.get(), zero_copy.get()}; }

  Driver& driver;
  EventLog log;
  DeviceTier device;
  HostTier host;
  std::unique_ptr<FileTier> file;
  std::unique_ptr<BackingTier> backing;  // null without bytes for it, as the next
  std::unique_ptr<PeerTier> peer;
  std::unique_ptr<ZeroCopyTier> zero_copy;
  std::unique_ptr<Residency> residency;
  std::unique_ptr<PageManager> pages;
  std::unique_ptr<BlockCache> blocks;
};

}  // namespace tessera
