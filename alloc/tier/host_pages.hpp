// What makes reserved host addresses usable memory, as an interface.
//
// Why an interface: a simulated machine without contents has a host tier of terabytes that takes no
// memory (NoHostPages); the bookkeeping above is the same.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include "base/units.hpp"

namespace tessera {

class HostPages {
 public:
  virtual ~HostPages() = default;
  // Wishes that what open() puts behind the range comes from this NUMA node; where the machine has no such
  // node, or no memory left on it, it comes from another. REQUIRES: the range is not open.
  virtual void place(void*, Bytes, unsigned /*node*/) {}
  // Makes the range readable, writable and present. False, with errno, when the machine refuses.
  // REQUIRES: the range is reserved, and nothing else is.
  virtual bool open(void* start, Bytes bytes) = 0;
  // Gives the memory back and keeps the addresses. REQUIRES: it was opened.
  virtual void close(void* start, Bytes bytes) = 0;
};

// The system's own, with huge pages where it has them. They refuse what would leave the machine, or this
// process's control group, so little memory that the kernel might kill for it. A child of fork finds
// zeros there: nothing is copied for it. It is there until the process is not.
HostPages& system_host_pages();

// Addresses alone: a touch is a fault, before and after.
class NoHostPages final : public HostPages {
 public:
  bool open(void*, Bytes) override { return true; }
  void close(void*, Bytes) override {}
};

}  // namespace tessera
