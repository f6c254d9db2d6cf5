#include "tier/file_store.hpp"

#include <utility>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

// The free space, in base pages, that a file keeps at most before it returns some.
constexpr std::uint64_t kMaxStale = 1_GiB / kBasePage;

}  // namespace

FileStore::FileStore(std::unique_ptr<FileIo> io, Bytes first, Bytes capacity, std::string directory)
    : io_(std::move(io)), first_(first), capacity_(capacity / kBasePage * kBasePage), directory_(std::move(directory)) {
  free_.give(0, capacity_ / kBasePage);
}

std::optional<Bytes> FileStore::take(Bytes bytes) {
  if (failed_) return std::nullopt;
  const std::uint64_t units = bytes / kBasePage;
  const auto start = free_.take(units);
  if (!start) return std::nullopt;
  for (std::uint64_t unit = *start; unit < *start + units; ++unit) stale_.take_exactly(unit, 1);
  return first_ + kBasePage * *start;
}

void FileStore::give_back(Bytes place, Bytes bytes, bool written) {
  DCHECK(holds(place));
  const std::uint64_t start = (place - first_) / kBasePage, units = bytes / kBasePage;
  free_.give(start, units);
  if (!written) return;  // it occupies no disk space
  stale_.give(start, units);
  if (stale_.free_count() > kMaxStale) trim();
}

void FileStore::trim() {
  while (const std::uint64_t count = stale_.largest()) {
    const auto start = stale_.take(count);
    if (!start) return;
    const Status discarded = io_->discard(kBasePage * *start, kBasePage * count);
    if (!discarded.is_ok()) log_line(LogLevel::kDebug, "{}", discarded.to_string());
  }
}

Status FileStore::validate() const {
  TESSERA_TRY(free_.validate());
  TESSERA_TRY(stale_.validate());
  if (stale_.free_count() <= free_.free_count()) return {};
  return Status(Code::kInternal,
                fmt::format("spill file: {} units free, {} stale", free_.free_count(), stale_.free_count()));
}

}  // namespace tessera
