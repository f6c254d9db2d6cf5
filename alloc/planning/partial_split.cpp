#include "planning/partial_split.hpp"

#include <algorithm>
#include <map>

namespace tessera {
namespace {

// So much more often than what goes out, so that chance does not move pages.
constexpr std::uint64_t kLeastRatio = 2;

bool pays(const SplitPage& in, const SplitPage& out, std::uint64_t least_gain) {
  return in.named >= out.named * kLeastRatio + in.bytes * least_gain;
}

struct PagesOfSize {
  std::vector<std::size_t> in_host, on_device;
};

}  // namespace

void count_named(std::vector<NamedStretch> stretches, std::span<SplitPage> pages) {
  if (pages.empty()) return;
  const Bytes block_end = pages.back().offset + pages.back().bytes;
  std::ranges::sort(stretches, {}, &NamedStretch::offset);
  Bytes next = block_end;  // where a stretch begins that is not this one
  for (std::size_t i = stretches.size(); i-- > 0;) {
    const NamedStretch& stretch = stretches[i];
    if (i + 1 < stretches.size() && stretches[i + 1].offset > stretch.offset) next = stretches[i + 1].offset;
    const Bytes end = std::min(stretch.bytes ? stretch.offset + stretch.bytes : next, block_end);
    const auto ends_before = [](const SplitPage& page, Bytes at) { return page.offset + page.bytes <= at; };
    auto page = std::lower_bound(pages.begin(), pages.end(), stretch.offset, ends_before);
    for (; page != pages.end() && page->offset < end; ++page) {
      const Bytes from = std::max(page->offset, stretch.offset), until = std::min(page->offset + page->bytes, end);
      if (from < until) page->named += (until - from) * stretch.times;
    }
  }
}

// Of each size the page that was named most is paired with the one that was named least, and so on.
std::vector<PageExchange> exchanges_that_pay(std::span<const SplitPage> pages, std::uint64_t least_gain, Bytes most) {
  std::map<Bytes, PagesOfSize> by_size;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    PagesOfSize& same = by_size[pages[i].bytes];
    (pages[i].in_host ? same.in_host : same.on_device).push_back(i);
  }
  const auto named = [pages](std::size_t i) { return pages[i].named; };
  std::vector<PageExchange> found;
  for (auto& [bytes, same] : by_size) {
    std::ranges::stable_sort(same.in_host, std::ranges::greater(), named);
    std::ranges::stable_sort(same.on_device, {}, named);
    const std::size_t count = std::min(same.in_host.size(), same.on_device.size());
    for (std::size_t i = 0; i < count && pays(pages[same.in_host[i]], pages[same.on_device[i]], least_gain); ++i) {
      found.push_back({same.in_host[i], same.on_device[i]});
    }
  }
  // The rate is what counts where not all can be had at once.
  std::ranges::stable_sort(found, std::ranges::greater(), [pages](const PageExchange& each) {
    return (pages[each.in].named - pages[each.out].named) / pages[each.in].bytes;
  });
  Bytes all;
  std::erase_if(found, [&](const PageExchange& each) {
    const Bytes bytes = pages[each.in].bytes;
    if (all + bytes > most) return true;
    all += bytes;
    return false;
  });
  return found;
}

}  // namespace tessera
