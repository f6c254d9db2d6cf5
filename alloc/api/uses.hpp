// Announced uses: the runs that work names are in device memory from begin() to end(), and nothing evicts them before
// the work queued in between is over.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "api/announced_use.hpp"
#include "api/device_heaps.hpp"
#include "api/named_runs.hpp"
#include "api/oom_explainer.hpp"
#include "api/trace_recorder.hpp"
#include "api/unnamed_uses.hpp"

namespace tessera {

class Uses {
 public:
  // REQUIRES: all of it outlives it.
  Uses(DeviceHeaps& heaps, TraceRecorder& recorder, UnnamedUses& unnamed, const OomExplainer& oom)
      : heaps_(heaps), recorder_(recorder), unnamed_(unnamed), oom_(oom) {}

  // Addresses outside of live blocks are ignored. `name`: equal pointers mean the same kind of work; may be null.
  Status begin(std::span<const Address> addresses, StreamId stream, Access access, Use::Kind kind, const char* name,
               AnnouncedUse& use);
  // Queued work that writes the blocks of the last `written` addresses and only reads the others.
  Status begin(std::span<const Address> addresses, std::size_t written, StreamId stream, const char* name,
               AnnouncedUse& use);
  // The same by ranges, of which only the bytes named have to be there.
  Status begin(std::span<const AddressRange> ranges, StreamId stream, Access access, Use::Kind kind, const char* name,
               AnnouncedUse& use);
  Status begin(std::span<const AddressRange> ranges, std::size_t written, StreamId stream, const char* name,
               AnnouncedUse& use);
  // The common case: queued work with all of its blocks on one device and resident. Takes no lock and looks each
  // address up once. False: nothing has changed.
  bool try_begin(std::span<const Address> addresses, StreamId stream, Access access, AnnouncedUse& use);
  // Of queued work that has begun: that it names these does not show that its kernel uses them, or that kernels which
  // do are given their addresses. REQUIRES: its use has not ended.
  void note_unshown(std::span<const Address> addresses, std::span<const Address> shown = {});
  // Ends a use of any kind, also of unnamed work and of graded addresses.
  void end(AnnouncedUse& use);
  // A use without work of its own. Errors: as begin(), and kNotFound.
  Status touch(Address address, StreamId stream, Access access);

 private:
  bool try_other(StreamId stream, AnnouncedUse& use);
  template <class Named>
  static void note_named(DeviceHeap& heap, std::span<const Named> named);
  template <class Named>
  Status begin_named(std::span<const Named> named, StreamId stream, Access access, Use::Kind kind, const char* name,
                     AnnouncedUse& use);
  template <class Named>
  Status begin_partly_written(std::span<const Named> named, std::size_t written, StreamId stream, const char* name,
                              AnnouncedUse& use);
  template <class Named>
  Status begin_on_several(std::span<const Named> named, Access access, AnnouncedUse& use);
  Status begin_held(std::vector<AnnouncedUse::Part> parts, Access access, AnnouncedUse& use, const Held& held);
  bool try_touch(DeviceHeap& heap, Address address, StreamId stream, Access access);
  Status touch_absent(Address address, StreamId stream, Access access);
  Status explain(Status status, DeviceHeap& heap, std::span<Run* const> runs) const;

  DeviceHeaps& heaps_;
  TraceRecorder& recorder_;
  UnnamedUses& unnamed_;
  const OomExplainer& oom_;
};

}  // namespace tessera
