// The blocks that contain tables of pointers.
//
// Thread safety: its owner's lock (pointer_tables.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "cuda_api.hpp"
#include "pointer_entries.hpp"

namespace tessera::preload {

class TableHolders {
 public:
  using Holder = std::pair<CUdeviceptr, CUdeviceptr>;  // first byte, end

  // The block that contains this byte, if it has a table.
  std::optional<Holder> of(CUdeviceptr address) const {
    if (!pages_[page_of(address)]) return std::nullopt;
    return look_up(address);
  }

  void add(CUdeviceptr begin, CUdeviceptr end);
  // Of those with bytes in [begin, end), the ones without entries go.
  void drop_bare(CUdeviceptr begin, CUdeviceptr end, const PointerEntries& entries);
  void drop_bare(const PointerEntries& entries);
  void clear();

 private:
  static constexpr std::size_t kPageBits = 21;
  static constexpr std::size_t kPages = 4096;

  static std::size_t page_of(CUdeviceptr address) { return (address >> kPageBits) % kPages; }
  std::optional<Holder> look_up(CUdeviceptr address) const;

  std::map<CUdeviceptr, CUdeviceptr> holders_;  // first byte -> end
  // Whether a holder may contain a byte of this page; rules out nearly all other words. Cleared with the last table.
  std::array<bool, kPages> pages_{};
};

}  // namespace tessera::preload
