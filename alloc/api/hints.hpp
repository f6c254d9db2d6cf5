// What the program says of its blocks ahead of their use: which to fetch and to evict, what is inside them, and how to
// recompute their bytes.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "api/activity.hpp"
#include "api/device_heaps.hpp"
#include "api/named_runs.hpp"
#include "api/tag_table.hpp"
#include "api/trace_recorder.hpp"

namespace tessera {

class Hints {
 public:
  // REQUIRES: all of it outlives it.
  Hints(DeviceHeaps& heaps, TraceRecorder& recorder, const TagTable& tags, Activity& activity)
      : heaps_(heaps), recorder_(recorder), tags_(tags), activity_(activity) {}

  // Errors of both: kNotFound; Residency's.
  Status prefetch(std::span<const Address> addresses);
  Status evict(std::span<const Address> addresses);
  // All blocks with the tag, on all devices. Null: all blocks. Errors: kNotFound for a tag never used; those of
  // residency, after all devices were tried.
  Result<Moved> sleep(const char* tag);
  Result<Moved> wake(const char* tag);
  // All blocks, because the program is idle. Ends early as Sleeper::sleep.
  Result<Moved> sleep_unless(const Sleeper::Interrupted& interrupted);
  // An address in the block then means its extent; without extents, the block. Errors: kNotFound, and those of
  // Extents::of and Rows::set_extents.
  Status set_extents(Address address, std::vector<Extent> extents);
  // The same for objects that come one by one (extents.h): from the first on, an address in their blocks means the
  // object that contains it. Objects in no live block are left out; a block in which two overlap is kept whole.
  // Errors: kBusy as above, after all others.
  Status add_extents(std::span<const AddressRange> objects);
  void remove_extents(std::span<const Address> addresses);
  // The block is one object until it ends. Errors: kNotFound.
  Status keep_whole(Address address);
  // Recomputes the block's bytes: queues work on the stream it is given (recompute.hpp has its contract).
  using Recomputer = std::function<Status(Address, Bytes, StreamId)>;
  // An empty function ends it. Errors: kNotFound; kBusy where only the callback can restore the bytes.
  Status set_recompute(Address address, Recomputer recomputer, Nanoseconds cost);

 private:
  Result<std::optional<TagId>> tag_named(const char* name) const;
  Status note_object(const AddressRange& object);
  Status follow(const AddressRange& object);
  template <class Act>
  Result<Moved> on_all_heaps(const char* name, Act act);

  DeviceHeaps& heaps_;
  TraceRecorder& recorder_;
  const TagTable& tags_;
  Activity& activity_;
};

}  // namespace tessera
