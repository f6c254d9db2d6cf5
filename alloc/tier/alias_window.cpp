#include "tier/alias_window.hpp"

#include "base/log.hpp"

namespace tessera {

AliasWindow::~AliasWindow() {
  for (const Address slab : slabs_) {
    if (const Status released = driver_.release(slab, kSlab); !released.is_ok()) {
      log_line(LogLevel::kDebug, "addresses of second mappings were not released: {}", released.to_string());
    }
  }
}

Result<Address> AliasWindow::take(PageClass page_class) {
  std::vector<Address>& free = free_[index_of(page_class)];
  if (free.empty()) {
    Address slab;
    TESSERA_TRY_ASSIGN(slab, driver_.reserve(kSlab, kLargePage));
    slabs_.push_back(slab);
    // The last is handed out first, so slots are used in ascending order.
    for (Bytes at = kSlab; at; at -= page_bytes(page_class)) free.push_back(slab + (at - page_bytes(page_class)));
  }
  const Address slot = free.back();
  free.pop_back();
  return slot;
}

}  // namespace tessera
