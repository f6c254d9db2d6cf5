#include "page/page_map.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include <fmt/core.h>

#include "base/check.hpp"

namespace tessera {

Result<std::unique_ptr<PageMap>> PageMap::create(Address low, Bytes bytes) {
  DCHECK_EQ((bytes % kBasePage).value(), 0u);
  const std::size_t size = array_bytes(bytes);
  void* const array = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (array == MAP_FAILED) {
    return Status(Code::kOutOfMemory,
                  fmt::format("no memory for a page map of {} bytes: {}", size, std::strerror(errno)));
  }
  return std::unique_ptr<PageMap>(new PageMap(low, bytes, static_cast<Run**>(array)));
}

PageMap::~PageMap() { ::munmap(entries_, array_bytes(bytes_)); }

void PageMap::set(Address first, std::uint64_t pages, Run* run) {
  DCHECK(first >= low_);
  const std::uint64_t begin = (first - low_) / kBasePage;
  DCHECK_LE(begin + pages, bytes_ / kBasePage);
  for (std::uint64_t page = begin; page < begin + pages; ++page) entry(page).store(run);
}

void PageMap::set_range(Address first, std::uint64_t windows, Run* range) {
  DCHECK(first >= low_);
  const std::uint64_t begin = (first - low_) / kLargePage;
  DCHECK_LE(begin + windows, windows_of(bytes_));
  for (std::uint64_t each = begin; each < begin + windows; ++each) window(each).store(range);
}

}  // namespace tessera
