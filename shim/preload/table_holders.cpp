#include "table_holders.hpp"

#include <iterator>

namespace tessera::preload {

std::optional<TableHolders::Holder> TableHolders::look_up(CUdeviceptr address) const {
  auto holder = holders_.upper_bound(address);
  if (holder == holders_.begin() || address >= (--holder)->second) return std::nullopt;
  return *holder;
}

void TableHolders::add(CUdeviceptr begin, CUdeviceptr end) {
  holders_[begin] = end;
  for (CUdeviceptr at = begin; at < end; at += CUdeviceptr{1} << kPageBits) pages_[page_of(at)] = true;
  pages_[page_of(end - 1)] = true;
}

void TableHolders::drop_bare(CUdeviceptr begin, CUdeviceptr end, const PointerEntries& entries) {
  auto holder = holders_.upper_bound(begin);
  if (holder != holders_.begin()) --holder;
  while (holder != holders_.end() && holder->first < end) {
    holder = entries.has_any(holder->first, holder->second) ? std::next(holder) : holders_.erase(holder);
  }
}

void TableHolders::drop_bare(const PointerEntries& entries) {
  std::erase_if(holders_, [&](const auto& holder) { return !entries.has_any(holder.first, holder.second); });
}

void TableHolders::clear() {
  holders_.clear();
  pages_.fill(false);
}

}  // namespace tessera::preload
