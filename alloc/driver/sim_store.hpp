// One place of the simulated machine's physical memory: a sparse memfd, cut up into frames.
//
// Mapping a frame afresh would cost the system one fault for each 4 KiB, more than the copy of the
// bytes itself. So the whole file is mapped once, at home, and a frame is shown elsewhere by moving
// its page tables there, and back when it is hidden: the cost of a remap is some microseconds.
//
// The file is four times as large as the capacity, so that capacity and not fragmentation decides
// whether a frame fits, as on a GPU, whose page tables do not need neighbours.
//
// Thread safety: none; the owner locks.
//
// Invariants: used() is the sum of all pieces taken, at most capacity().
#pragma once

#include <cstddef>
#include <string>

#include "base/extent_map.hpp"
#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

class SimStore {
 public:
  SimStore(std::string name, Bytes capacity, Bytes granularity);
  ~SimStore();
  SimStore(const SimStore&) = delete;
  SimStore& operator=(const SimStore&) = delete;

  // An offset of `bytes` free bytes, all zero. REQUIRES: bytes is a multiple of the granularity.
  // Errors: kOutOfMemory, also when the system refuses the file.
  Result<Bytes> take(Bytes bytes);
  // REQUIRES: the very piece that take() returned.
  void give(Bytes offset, Bytes bytes);

  // Makes the piece readable and writable there. False, with errno, when the system refuses.
  bool show(Bytes offset, Bytes bytes, void* where) const;
  // Takes the page tables home. The bytes are still to be seen there until something else is
  // mapped, which the caller does next. False, with errno, when the system refuses. REQUIRES: shown
  // there.
  bool hide(Bytes offset, Bytes bytes, void* where) const;
  std::byte* at(Bytes offset) const { return home_ + offset.value(); }
  Bytes capacity() const { return capacity_; }
  Bytes used() const { return used_; }

 private:
  Status open();
  bool move_pages(void* from, void* to, Bytes offset, Bytes bytes) const;

  const std::string name_;
  const Bytes capacity_;
  const Bytes granularity_;
  const Bytes extent_;  // of the file
  Bytes used_;
  int file_ = -1;
  std::byte* home_ = nullptr;
  ExtentMap free_;  // in granules
};

}  // namespace tessera
