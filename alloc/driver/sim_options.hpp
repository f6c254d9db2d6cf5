// What kind of machine the simulated driver is.
//
// Two switches are independent. Contents: bytes that are there, or bookkeeping alone, for a device
// of 80 GB on any machine. Time: a SimDriver on a VirtualClock runs in virtual time, on any other
// clock in real time.
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

class SimWatcher;

enum class SimContents : std::uint8_t {
  kReal,  // frames in memory files; a stray touch is a real fault
  kNone,  // nothing can be read or written, and kernels only take their time
};

struct SimOptions {
  int devices = 1;                          // at most 64
  Bytes memory = 1_GiB;                     // of each device
  Bytes host_memory = 16_GiB;               // all host frames together
  Bytes granularity = 2_MiB;                // a power of two, at least 64 KiB
  LinkSpeed inbound{}, outbound{};          // of the copy engines; as fast as memcpy where empty
  LinkSpeed peer{};                         // of copies between devices, each way; as fast as memcpy where empty
  bool peers_carry = true;                  // false: they end well and have written nothing, as behind some IOMMUs
  std::vector<std::pair<int, int>> apart{};  // the first may not have access to memory of the second
  Nanoseconds kernel_time{};                // of each launch, at least
  LinkSpeed fingerprints{};                 // at which a device reads its memory for them
  // At which host memory is registered, and unregistered; no time where empty. In real time every call about memory, of
  // any thread and device, waits meanwhile, as for a driver's own lock. In virtual time the caller alone waits.
  LinkSpeed pinning{};
  SimContents contents = SimContents::kReal;
  bool host_frames = true;                  // false: create_frame(kHost) is not supported
  std::optional<unsigned> host_node{};      // as properties() tells it
  bool copies_at_once = true;               // false: copy_all() is not supported, as before CUDA 12.8
  bool makes_fingerprints = true;           // false, or no contents: fingerprint() is not supported
  // False, where there are no contents: nothing notes what is mapped where and what work touches, and no such call is
  // wrong. For who plays an engine that others watch.
  bool watches_memory = true;
  bool takes_hints = true;     // false: reserve() ignores where the range should start
  bool aligns = true;          // false: it ignores alignments beyond the granularity
  Address first_address{};     // of ranges without a hint; 0: a real driver's, or beyond those of any process
  // Of one stream: a caller that queues more than so many operations waits until one of them is over. 0: only what all streams hold
  // together is bounded.
  std::size_t queue_depth = 0;
  bool virtual_memory = true;  // false: no reserve, no frames, no mappings, as on some vGPUs
  std::string name = "Tessera software device";
  SimWatcher* watcher = nullptr;  // told of what has run, in virtual time; outlives the driver
};

}  // namespace tessera
