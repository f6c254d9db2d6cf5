// Turns reserved host addresses into usable memory, as an interface.
//
// Why an interface: a simulated machine without contents has a host tier of terabytes that uses no memory
// (NoHostPages); the bookkeeping above is the same.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cerrno>

#include "base/units.hpp"

namespace tessera {

// The errno of open() where other programs use what this one is not entitled to.
inline constexpr int kHostPagesInUseElsewhere = EDQUOT;

class HostPages {
 public:
  virtual ~HostPages() = default;
  // Requests that memory for the range in open() comes from this NUMA node; if the machine has no such node, or no
  // memory left on it, it comes from another. REQUIRES: the range is not open.
  virtual void place(void*, Bytes, unsigned /*node*/) {}
  // Makes the range readable, writable and present. False, with errno, when the machine refuses. REQUIRES: the range is
  // reserved and not open.
  virtual bool open(void* start, Bytes bytes) = 0;
  // Returns the memory and keeps the addresses. REQUIRES: it was opened.
  virtual void close(void* start, Bytes bytes) = 0;
};

// The system's pages, with huge pages where available. open() refuses if it would leave the machine, or this process's
// control group, so little memory that the OOM killer might act. A child of fork finds zeros there: nothing is copied
// for it. Lives as long as the process.
HostPages& system_host_pages();

// The same for memory of the program: a child of fork shares it with its parent, as it shares memory that a driver
// allocated (docs/realism.md). place() does nothing.
HostPages& shared_host_pages();

// Addresses only: an access is a fault, before and after open().
class NoHostPages final : public HostPages {
 public:
  bool open(void*, Bytes) override { return true; }
  void close(void*, Bytes) override {}
};

}  // namespace tessera
