// Our own addresses for second mappings of frames.
//
// One driver call reserves a slab, from which slots of a page's size are handed out and taken back; slabs are kept
// until the end. So there are few reservations, however many frames there are, and no more than frames have needed at
// once.
//
// Thread safety: none; the caller's lock.
#pragma once

#include <array>
#include <vector>

#include "base/page_class.hpp"
#include "base/status.hpp"
#include "driver/driver.hpp"

namespace tessera {

class AliasWindow {
 public:
  static constexpr Bytes kSlab = kLargePage * 32;

  explicit AliasWindow(Driver& driver) : driver_(driver) {}
  // REQUIRES: nothing is mapped in it; a slab with a mapping stays reserved.
  ~AliasWindow();
  AliasWindow(const AliasWindow&) = delete;
  AliasWindow& operator=(const AliasWindow&) = delete;

  // Errors: the driver's, where a new slab was needed.
  Result<Address> take(PageClass page_class);
  // REQUIRES: taken here with that class; nothing is mapped there.
  void give_back(PageClass page_class, Address slot) { free_[index_of(page_class)].push_back(slot); }

 private:
  Driver& driver_;
  std::vector<Address> slabs_;
  std::array<std::vector<Address>, kPageClasses.size()> free_;
};

}  // namespace tessera
