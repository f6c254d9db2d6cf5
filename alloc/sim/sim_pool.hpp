// One pool of the simulated machine's physical memory: a number of bytes, cut into pieces that can be made visible at
// addresses.
//
// Two kinds: SimStore has bytes, SimCount only counts them.
//
// Thread safety: none; the owner locks.
//
// Invariants: used() is the sum of all pieces taken, at most capacity().
#pragma once

#include <string>

#include "base/status.hpp"
#include "base/units.hpp"
#include "sim/sim_options.hpp"

namespace tessera {

class SimPool {
 public:
  SimPool(std::string name, Bytes capacity);
  virtual ~SimPool() = default;
  SimPool(const SimPool&) = delete;
  SimPool& operator=(const SimPool&) = delete;

  // The offset of `bytes` free bytes, all zero. REQUIRES: bytes is a multiple of the granularity. Errors: kOutOfMemory,
  // also when the system refuses.
  Result<Bytes> take(Bytes bytes);
  // REQUIRES: exactly a piece that take() returned.
  void give(Bytes offset, Bytes bytes);

  // Makes the piece readable and writable there. False, with errno, when the system refuses.
  virtual bool show(Bytes offset, Bytes bytes, void* where) const = 0;
  // Ends that. The bytes may remain visible there until something else is mapped, which the caller does next. False,
  // with errno, when the system refuses. REQUIRES: shown there.
  virtual bool hide(Bytes offset, Bytes bytes, void* where) const = 0;
  // A file in which each piece lies at its offset, for another process; the caller closes it. -1, with errno, when
  // the system refuses or there are no bytes.
  virtual int share() { return -1; }
  Bytes capacity() const { return capacity_; }
  Bytes used() const { return used_; }

 protected:
  const std::string& name() const { return name_; }

 private:
  virtual Result<Bytes> place(Bytes bytes) = 0;
  virtual void clear(Bytes offset, Bytes bytes) = 0;

  const std::string name_;
  const Bytes capacity_;
  Bytes used_;
};

// Pieces without bytes or placement.
class SimCount final : public SimPool {
 public:
  using SimPool::SimPool;
  bool show(Bytes, Bytes, void*) const override { return true; }
  bool hide(Bytes, Bytes, void*) const override { return true; }

 private:
  Result<Bytes> place(Bytes) override { return Bytes(); }
  void clear(Bytes, Bytes) override {}
};

}  // namespace tessera
