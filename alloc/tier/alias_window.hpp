// Addresses of our own at which frames are mapped a second time.
//
// A driver call reserves a slab of them, from which slots of a page's size are handed out and taken back; slabs stay
// until the end. So the reservations are few, however many frames there are, and no more than the frames have needed
// at once.
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
  // REQUIRES: nothing is mapped in it; what is stays reserved.
  ~AliasWindow();
  AliasWindow(const AliasWindow&) = delete;
  AliasWindow& operator=(const AliasWindow&) = delete;

  // Errors: the driver's, where a slab was needed.
  Result<Address> take(PageClass page_class);
  // REQUIRES: taken here with that class; nothing is mapped there.
  void give_back(PageClass page_class, Address slot) { free_[index_of(page_class)].push_back(slot); }

 private:
  Driver& driver_;
  std::vector<Address> slabs_;
  std::array<std::vector<Address>, kPageClasses.size()> free_;
};

}  // namespace tessera
