#include "api/oom_report.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/page_class.hpp"
#include "base/size_text.hpp"

namespace tessera {
namespace {

// `ended`: the free bytes that are not written any more.
std::string tier_line(const char* name, const OomFigures::Tier& tier, Bytes ended = {}) {
  if (!tier.capacity) return fmt::format("  {:<6}  off\n", name);
  const Bytes used = std::min(tier.used, tier.capacity);
  // In MiB throughout, because rounded values in mixed units do not add up.
  const auto mib = [](Bytes bytes) { return static_cast<double>(bytes.value()) / (1 << 20); };
  const Bytes lost = std::min(ended, tier.capacity - used);
  const std::string more = lost ? fmt::format(" + {:.1f} not written any more", mib(lost)) : "";
  return fmt::format("  {:<6}  {:.1f} MiB = {:.1f} used + {:.1f} free{}\n", name, mib(tier.capacity), mib(used),
                     mib(tier.capacity - used - lost), more);
}

std::string first_line(const OomFigures& figures) {
  if (figures.cause == OomFigures::Cause::kWorkingSet) {
    return fmt::format(
        "out of memory: one launch on device {} uses {} at once, more than "
        "device memory can hold\n",
        figures.device.value(), rounded_size(figures.asked));
  }
  if (figures.cause == OomFigures::Cause::kBlock) {
    return fmt::format("out of memory: a block of {} was requested on device {}, more than device memory can hold\n",
                       rounded_size(figures.asked), figures.device.value());
  }
  return fmt::format("out of memory: {} was requested on device {}, and no tier has room\n",
                     rounded_size(figures.asked), figures.device.value());
}

// Advice for memory that is pinned or exposed, where that is most of the device.
std::string advice_for_held(const OomFigures& figures) {
  if (figures.exposed < figures.pinned) return "unpin blocks: pinned blocks cannot be evicted";
  return fmt::format(
      "avoid exposing blocks{}{}: a block that another process, a device or a graph can use directly stays "
      "on the device until it is freed",
      figures.exposed_by.empty() ? "" : ", mostly by ", figures.exposed_by);
}

// A larger budget helps only if the memory that is left covers the request: a budget cannot exceed what is left.
bool helps(std::optional<Bytes> left, const OomFigures& figures) {
  return !left || *left >= std::max(figures.asked, kBasePage);
}

// Paths may be long, and the message has a limit.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 400;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

std::string left_text(std::optional<Bytes> left) {
  return left ? fmt::format(", {} are left", rounded_size(*left)) : "";
}

std::string advice_for_host(const OomFigures& figures) {
  if (helps(figures.host_left, figures)) {
    return fmt::format("raise --host-memory (TESSERA_HOST_MEMORY{})", left_text(figures.host_left));
  }
  return fmt::format("give the process more host memory, as the machine or its control group leaves it {}",
                     rounded_size(*figures.host_left));
}

std::string advice_for_full_file(const OomFigures& figures) {
  if (figures.file_limited) return "raise the limit on the size of files (ulimit -f), or give more than one --file-dir";
  if (helps(figures.disk_left, figures)) {
    return fmt::format("raise --file-memory (TESSERA_FILE_MEMORY{})", left_text(figures.disk_left));
  }
  return fmt::format("give --file-dir (TESSERA_FILE_DIR) a disk with more room, as {} are left there",
                     rounded_size(*figures.disk_left));
}

std::string advice_for_file(const OomFigures& figures) {
  switch (figures.file) {
    case OomFigures::FileState::kNotAsked: return "give --file-dir DIRECTORY (TESSERA_FILE_DIR) on a fast local disk";
    case OomFigures::FileState::kRefused:
      return fmt::format(
          "use another --file-dir (TESSERA_FILE_DIR; tessera doctor tries one), as there is no spill file: {}",
          shortened(figures.file_trouble));
    case OomFigures::FileState::kEnded:
      return fmt::format("use another --file-dir (TESSERA_FILE_DIR), as a write failed and nothing more is written: {}",
                         shortened(figures.file_trouble));
    case OomFigures::FileState::kSpent:
      return "raise --file-write-budget (TESSERA_FILE_WRITE_BUDGET), which is used up, so nothing more is written to "
             "the spill files";
    case OomFigures::FileState::kSizeZero: return "raise --file-memory (TESSERA_FILE_MEMORY)";
    case OomFigures::FileState::kServes: break;
  }
  return advice_for_full_file(figures);
}

std::string advice_for_tiers(const OomFigures& figures) {
  if (figures.host_refused) {
    return "give the process more host memory, as the machine or its control group refused the rest of --host-memory; "
           "or " +
           advice_for_file(figures);
  }
  const bool file_first = figures.file != OomFigures::FileState::kRefused || !helps(figures.host_left, figures);
  const std::string host = advice_for_host(figures), file = advice_for_file(figures);
  return file_first ? file + "; or " + host : host + "; or " + file;
}

std::string advice(const OomFigures& figures) {
  if (figures.cause == OomFigures::Cause::kWorkingSet && figures.elsewhere) {
    return "free memory that the program took from the driver directly, or stop other programs on the device";
  }
  if (figures.cause == OomFigures::Cause::kWorkingSet) {
    return "raise --device-memory (TESSERA_DEVICE_MEMORY), or make launches use less memory at once";
  }
  if (figures.cause == OomFigures::Cause::kBlock) return "raise --device-memory (TESSERA_DEVICE_MEMORY)";
  if (!figures.automatic) {
    return "evict or free blocks, or enable automatic eviction, which is off";
  }
  if (figures.pinned + figures.exposed > figures.device_tier.used / 2) return advice_for_held(figures);
  return advice_for_tiers(figures);
}

}  // namespace

std::string oom_message(const OomFigures& figures) {
  std::string text = first_line(figures);
  text += tier_line("device", figures.device_tier);
  if (figures.elsewhere) {
    text += fmt::format("  {} of the budget is not available: the driver has allocated it elsewhere\n",
                        rounded_size(figures.elsewhere));
  }
  if (figures.peer_tier.capacity) text += tier_line("peer", figures.peer_tier);
  text += tier_line("host", figures.host_tier);
  text += tier_line("file", figures.file_tier, figures.file_ended);
  if (figures.pinned || figures.exposed) {
    text += fmt::format("  held on the device: {} pinned, {} exposed\n", rounded_size(figures.pinned),
                        rounded_size(figures.exposed));
  }
  return text + "try: " + advice(figures);
}

}  // namespace tessera
