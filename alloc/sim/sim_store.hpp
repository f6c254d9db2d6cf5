// One pool of the simulated machine's physical memory: a sparse memfd, cut into frames.
//
// Mapping a frame afresh would cost one page fault per 4 KiB, more than copying the bytes. So the whole file is mapped
// once, at its home, and a frame is made visible elsewhere by moving its page tables there, and back when it is hidden:
// a remap costs some microseconds.
//
// The file is four times as large as the capacity, so that capacity and not fragmentation decides whether a frame fits,
// as on a GPU, which does not need contiguous pages.
//
// Thread safety: none; the owner locks.
//
// Invariants: those of sim_pool.hpp; pieces never overlap.
#pragma once

#include <cstddef>
#include <string>

#include "base/extent_map.hpp"
#include "sim/sim_pool.hpp"

namespace tessera {

class SimStore final : public SimPool {
 public:
  SimStore(std::string name, Bytes capacity, Bytes granularity);
  ~SimStore() override;

  bool show(Bytes offset, Bytes bytes, void* where) const override;
  // Moves the page tables back home.
  bool hide(Bytes offset, Bytes bytes, void* where) const override;
  int share() override;
  std::byte* at(Bytes offset) const { return home_ + offset.value(); }

 private:
  Result<Bytes> place(Bytes bytes) override;
  void clear(Bytes offset, Bytes bytes) override;
  Status open();
  bool is_within_capacity() const;
  bool move_pages(void* from, void* to, Bytes offset, Bytes bytes) const;

  const Bytes granularity_;
  const Bytes extent_;  // of the file
  int file_ = -1;
  std::byte* home_ = nullptr;
  ExtentMap free_;  // in granules
};

}  // namespace tessera
