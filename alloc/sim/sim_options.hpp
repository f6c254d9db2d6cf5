// The kind of machine that the simulated driver models.
//
// Two choices are independent. Contents: real bytes, or bookkeeping only, for a device of 80 GB on any machine. Time: a
// SimDriver on a VirtualClock runs in virtual time, on any other clock in real time.
//
// Thread safety: a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/link_speed.hpp"
#include "base/units.hpp"

namespace tessera {

class SimHardware;
class VirtualHardware;
class SimWatcher;

enum class SimContents : std::uint8_t {
  kReal,  // frames in memory files; a stray access is a real fault
  kNone,  // nothing can be read or written, and kernels only take time
};

// How long the caller of a function about memory waits for it, in virtual time. What real drivers take, hardly more for
// a large frame than for a small one, is in docs/hardware.md.
struct SimCallTimes {
  Nanoseconds frame{};    // create_frame(), for its destruction too
  Nanoseconds mapping{};  // map(), for the frame's access and its later unmap too
  // A driver writes access with the copy engine that copies to the host: map() waits until no such copy runs, at most
  // this long.
  Nanoseconds copy_turn{};
};

struct SimOptions {
  int devices = 1;                  // at most 64
  Bytes memory = 1_GiB;             // per device
  Bytes host_memory = 16_GiB;       // all host frames together
  Bytes granularity = 2_MiB;        // a power of two, at least 64 KiB
  LinkSpeed inbound{}, outbound{};  // of the copy engines; as fast as memcpy where empty
  LinkSpeed peer{};                 // between devices, in each direction; as fast as memcpy where empty
  // True: a device is reached over a link of its own; false: copies of a device to and from all others share its link.
  bool peer_links_apart = false;
  bool peers_carry = true;  // false: peer copies succeed without writing anything, as behind some IOMMUs
  std::vector<std::pair<int, int>> apart{};  // the first device cannot access memory of the second
  Nanoseconds kernel_time{};                 // minimum for each launch
  LinkSpeed fingerprints{};                  // at which a device reads its memory for fingerprints
  // At which host memory is registered and unregistered; no time where empty. In real time every call about memory, on
  // any thread and device, waits meanwhile, as for a driver's own lock. In virtual time only the caller waits.
  LinkSpeed pinning{};
  SimCallTimes calls{};
  SimContents contents = SimContents::kReal;
  bool host_frames = true;              // false: create_frame(kHost) is not supported
  std::optional<unsigned> host_node{};  // as reported by properties()
  bool copies_at_once = true;           // false: copy_all() is not supported, as before CUDA 12.8
  bool makes_fingerprints = true;       // false, or no contents: fingerprint() is not supported
  // False (only without contents): mappings and accesses are not tracked, and no such call is an error. For simulations
  // of an engine that other runs check.
  bool watches_memory = true;
  bool takes_hints = true;  // false: reserve() ignores the hint
  bool aligns = true;       // false: it ignores alignments beyond the granularity
  Address first_address{};  // of ranges without a hint; 0: as a real driver, or beyond those of any process
  // Per stream: a caller that queues more operations than this waits until one of them is over. 0: only the total of
  // all streams is bounded.
  std::size_t queue_depth = 0;
  bool virtual_memory = true;  // false: no reserve, no frames, no mappings, as on some vGPUs
  std::string uuid{};          // as reported by properties()
  std::string name = "Tessera software device";
  // What other processes use too, in real time, and in virtual time; outlives the driver.
  SimHardware* hardware = nullptr;
  VirtualHardware* virtual_hardware = nullptr;
  SimWatcher* watcher = nullptr;  // called for work that has run, in virtual time; outlives the driver
};

}  // namespace tessera
