// Pages of one size, never merged or split: the reference for the page classes.
//
// The size classes are ours, so that only the pages differ: a block below 1 MiB is a slot of a page of its class, a
// larger block has pages of its own. Any page can back any address, so pages never fragment. The memory held beyond the
// used bytes is the remainder of a block's last page or of a slot, and free slots in pages of other classes. A free
// page is kept for the next block and is never returned to the device.
#include <algorithm>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "block/size_class.hpp"
#include "contender.hpp"
#include "must.hpp"

namespace tessera::bench {
namespace {

class OneSize final : public Contender {
 public:
  OneSize(Bytes capacity, Bytes page) : page_(page), pages_(capacity / page), with_room_(kSlotClasses) {}

  std::uint64_t allocate(Bytes bytes, unsigned) override {
    const auto wanted = size_class_for(bytes);
    if (!wanted) return 0;
    const std::scoped_lock lock(mutex_);
    return wanted->is_slot() ? allocate_slot(*wanted) : allocate_pages(round_up(bytes, page_) / page_);
  }

  void free(std::uint64_t address, unsigned) override {
    const std::scoped_lock lock(mutex_);
    if (const auto block = blocks_.extract(address)) {
      used_ -= block.mapped();
      return;
    }
    const std::uint64_t start = address - address % page_.value();
    const auto found = slabs_.find(start);
    must(found != slabs_.end(), "a block that was not allocated");
    Slab& slab = found->second;
    slab.free_slots.push_back((address - start) / slab.size_class.bytes().value());
    auto& with_room = with_room_[slab.size_class.index];
    with_room.insert(start);
    if (slab.free_slots.size() < page_ / slab.size_class.bytes()) return;
    with_room.erase(start);
    slabs_.erase(found);
    --used_;
  }

  std::optional<Bytes> reserved() const override { return page_ * held_; }

 private:
  struct Slab {
    SizeClass size_class;
    std::vector<std::uint64_t> free_slots;
  };

  // The address of `pages` pages, or 0. Addresses cost nothing and are never reused.
  std::uint64_t take(std::uint64_t pages) {
    if (pages > pages_ - used_) return 0;
    used_ += pages;
    held_ = std::max(held_, used_);
    const std::uint64_t start = next_;
    next_ += (page_ * pages).value();
    return start;
  }
  std::uint64_t allocate_pages(std::uint64_t pages) {
    const std::uint64_t start = take(pages);
    if (start != 0) blocks_.emplace(start, pages);
    return start;
  }
  // Takes the lowest page with room, so that sparse pages become empty, as our slabs do.
  std::uint64_t allocate_slot(SizeClass size_class) {
    auto& with_room = with_room_[size_class.index];
    if (with_room.empty()) {
      const std::uint64_t start = take(1);
      if (start == 0) return 0;
      Slab& slab = slabs_.try_emplace(start, Slab{size_class, {}}).first->second;
      for (std::uint64_t slot = page_ / size_class.bytes(); slot-- > 0;) slab.free_slots.push_back(slot);
      with_room.insert(start);
    }
    const std::uint64_t start = *with_room.begin();
    Slab& slab = slabs_.at(start);
    const std::uint64_t slot = slab.free_slots.back();
    slab.free_slots.pop_back();
    if (slab.free_slots.empty()) with_room.erase(start);
    return start + (size_class.bytes() * slot).value();
  }

  const Bytes page_;
  const std::uint64_t pages_;  // in total
  std::mutex mutex_;
  std::uint64_t used_ = 0, held_ = 0;                        // pages
  std::uint64_t next_ = std::uint64_t{1} << 40;              // a multiple of any page size
  std::unordered_map<std::uint64_t, std::uint64_t> blocks_;  // start to pages
  std::unordered_map<std::uint64_t, Slab> slabs_;            // by start
  std::vector<std::set<std::uint64_t>> with_room_;           // starts of slabs, by class
};

}  // namespace

std::unique_ptr<Contender> make_base_pages(Bytes capacity) { return std::make_unique<OneSize>(capacity, kBasePage); }
std::unique_ptr<Contender> make_large_pages(Bytes capacity) { return std::make_unique<OneSize>(capacity, kLargePage); }

}  // namespace tessera::bench
