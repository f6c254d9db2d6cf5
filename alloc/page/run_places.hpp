// Which pages of the address space are free for runs: whole windows for large pages, and base windows by domain.
//
// A base window belongs to one domain, so a page never mixes two domains and the pages of a window are freed together
// (Mosaic's soft guarantee). Free places are extents: best fit, coalesced on return.
//
// Positions count base pages from the start of the range, whatever the sizes of the pages there.
//
// Thread safety: none; the page manager's lock. Invariants (validate()): every base page of a base window is free in
// its domain or was taken for it, and a base window is never wholly free.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "base/extent_map.hpp"
#include "base/page_class.hpp"
#include "page/address_space.hpp"

namespace tessera {

struct Domain {
  std::uint32_t pool = 0;  // chosen by the layer above, e.g. to separate slabs from single blocks
  StreamId stream;
  TagId tag;
  constexpr auto operator<=>(const Domain&) const = default;
};

constexpr std::uint64_t base_pages_in(RunShape shape) { return shape.bytes() / kBasePage; }

class RunPlaces {
 public:
  // REQUIRES: `space` outlives it.
  explicit RunPlaces(AddressSpace& space) : space_(space) {}

  // The position for a run of this shape, if there is room: large pages take whole windows, the tail a part of those of
  // the domain.
  std::optional<std::uint64_t> take(RunShape shape, const Domain& domain);
  // REQUIRES: take() returned this position for them.
  void give(std::uint64_t position, RunShape shape, const Domain& domain);

  // The domain of a base window; null if it is none.
  const Domain* domain_of(std::uint64_t window) const;
  std::uint64_t base_windows() const { return windows_.size(); }
  std::uint64_t free_pages() const;  // base pages
  // `has_run(position)`: whether a run has this base page.
  Status validate(const std::function<bool(std::uint64_t)>& has_run) const;

 private:
  struct Home {
    ExtentMap free;  // base pages in this domain's windows
    std::uint64_t windows = 0;
  };

  std::optional<std::uint64_t> take_base(std::uint64_t pages, const Domain& domain);
  void adopt_window(std::uint64_t window, const Domain& domain);
  void return_window_if_free(std::uint64_t window, const Domain& domain);
  Status validate_home(const Domain& domain, const Home& home, const std::function<bool(std::uint64_t)>& has_run) const;

  AddressSpace& space_;
  std::map<Domain, Home> homes_;
  std::map<std::uint64_t, Domain> windows_;  // base windows by number
};

}  // namespace tessera
