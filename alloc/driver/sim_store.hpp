// One place of the simulated machine's physical memory: a sparse memfd, cut up and seen as a whole.
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

  int file() const { return file_; }
  std::byte* at(Bytes offset) const { return view_ + offset.value(); }
  Bytes capacity() const { return capacity_; }
  Bytes used() const { return used_; }

 private:
  Status open();

  const std::string name_;
  const Bytes capacity_;
  const Bytes granularity_;
  const Bytes extent_;  // of the file
  Bytes used_;
  int file_ = -1;
  std::byte* view_ = nullptr;
  ExtentMap free_;  // in granules
};

}  // namespace tessera
