#include "api/budgets.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/ranges.h>
#include <fmt_whole.hpp>

#include "base/available_memory.hpp"
#include "base/log.hpp"
#include "base/page_class.hpp"
#include "base/size_text.hpp"
#include "tier/spill_file.hpp"

namespace tessera {
namespace {

constexpr Bytes kLargestAutoFile = 256_GiB;
// Contexts of frameworks take 300 to 600 MiB, most of it before the first allocation.
constexpr Bytes kMostReserve = 512_MiB;
constexpr std::uint64_t kReservePart = 32;

Bytes whole_pages(Bytes bytes) { return bytes / kBasePage * kBasePage; }

// Files cannot grow beyond the process's limit, and a write beyond it would end the program.
void keep_below_limit(std::vector<FileBudget>& budgets, bool asked) {
  const Bytes limit = whole_pages(file_size_limit());
  for (FileBudget& budget : budgets) {
    if (budget.bytes <= limit) continue;
    log_line(asked ? LogLevel::kWarning : LogLevel::kInfo,
             "spill directory {}: only {} of {} is used because of the file size limit (ulimit -f)", budget.directory,
             rounded_size(limit), rounded_size(budget.bytes));
    budget.bytes = limit;
  }
}

}  // namespace

Result<Bytes> free_space(const std::string& directory) {
  struct statvfs space {};
  if (::statvfs(directory.c_str(), &space) != 0) {
    return Status(Code::kIo, fmt::format("file-dir {}: {}", directory, std::strerror(errno)));
  }
  return Bytes(std::uint64_t{space.f_bavail} * space.f_frsize);
}

Bytes space_left(const Options& options) {
  Bytes space;
  for (const std::string& directory : spill_directories(options)) {
    const Result<Bytes> free = free_space(directory);
    if (free.is_ok()) space += free.value();
  }
  return space;
}

Bytes context_reserve(Bytes free) { return std::min(free / kReservePart, kMostReserve); }

Bytes device_budget(const Options& options, const MemoryInfo& memory) {
  const Bytes usual = memory.free - context_reserve(memory.free);
  return whole_pages(std::min(memory.free, options.device_memory ? options.device_memory->of(memory.total) : usual));
}

Result<std::vector<Loan>> peer_loans(const Options& options) {
  std::vector<Loan> loans;
  Bytes all;
  std::istringstream words(options.peer_memory);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t colon = word.find(':');
    std::uint64_t lender = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + std::min(colon, word.size()), lender);
    const bool numbered = colon != std::string::npos && parsed.ec == std::errc{} && parsed.ptr == word.data() + colon;
    const Result<Bytes> bytes = numbered ? parse_size(word.substr(colon + 1)) : Bytes();
    const bool again = std::ranges::any_of(loans, [&](const Loan& loan) { return loan.lender == DeviceId(lender); });
    if (!numbered || !bytes.is_ok() || whole_pages(bytes.value()) == Bytes() || again) {
      return Status(Code::kInvalidArgument,
                    fmt::format("peer-memory: '{}' is not DEVICE:SIZE, as in 1:16GiB, or repeats a device", word));
    }
    loans.push_back({DeviceId(lender), whole_pages(bytes.value())});
    all += loans.back().bytes;
    if (all < loans.back().bytes) {
      return Status(Code::kInvalidArgument, "peer-memory: the sum of the sizes overflows 64 bits");
    }
  }
  return loans;
}

std::vector<Loan> loans_between(std::vector<Loan> loans, int devices) {
  const auto known = static_cast<std::uint64_t>(std::max(devices, 0));
  std::erase_if(loans, [known](const Loan& loan) {
    if (loan.lender.value() < known) return false;
    log_line(LogLevel::kWarning, "peer-memory: no such device: {} (to lend {})", loan.lender.value(),
             rounded_size(loan.bytes));
    return true;
  });
  if (loans.size() < known || loans.empty()) return loans;
  log_line(LogLevel::kWarning, "peer-memory disabled: all {} devices lend, so none can borrow", known);
  return {};
}

Bytes host_budget(const Options& options) {
  return whole_pages(options.host_memory ? options.host_memory->of(available_memory()) : available_memory() / 4);
}

Bytes node_host_budget(const Options& options) {
  const Bytes available = available_memory();
  return whole_pages(options.node_host_memory ? options.node_host_memory->of(available) : available / 2);
}

bool shares_file(const Options& options) {
  return options.node != "off" && !options.file_memory && (!options.file_dir.empty() || options.node_file_memory);
}

Bytes node_file_budget(const Options& options) {
  if (!shares_file(options)) return {};
  const Bytes space = space_left(options);
  const Bytes asked = options.node_file_memory.value_or(std::min(space / 2, kLargestAutoFile));
  return whole_pages(std::min(asked, space));
}

Bytes pinned_budget(const Options& options, Bytes host) {
  return whole_pages(std::min(host, options.host_blocks ? options.host_blocks->of(host) : host / 2));
}

Result<std::vector<FileBudget>> file_budgets(const Options& options) {
  std::vector<FileBudget> budgets;
  const std::optional<Bytes> wanted = shares_file(options) ? options.node_file_memory : options.file_memory;
  if (!wanted && options.file_dir.empty()) return budgets;
  if (wanted == Bytes(0)) return budgets;
  Bytes space;
  Status last;
  for (const std::string& directory : spill_directories(options)) {
    const Result<Bytes> free = free_space(directory);
    if (!last.is_ok()) log_text(LogLevel::kWarning, last.message());
    last = free.status();
    if (!free.is_ok()) continue;
    budgets.push_back({directory, free.value()});
    space += free.value();
  }
  if (budgets.empty()) return last;
  if (!last.is_ok()) log_text(LogLevel::kWarning, last.message());
  const Bytes asked = wanted.value_or(std::min(space / 2, kLargestAutoFile));
  // Without room for a page there is no file, and the line that reports this names the directory.
  if (asked > space && space >= kBasePage) {
    log_line(LogLevel::kWarning, "{}file-memory {} exceeds the free space in {}: using {}",
             shares_file(options) ? "node-" : "", rounded_size(asked), fmt::join(spill_directories(options), ", "),
             rounded_size(space));
  }
  const double part = space ? static_cast<double>(asked.value()) / static_cast<double>(space.value()) : 0;
  for (FileBudget& budget : budgets) {
    const auto share = static_cast<std::uint64_t>(static_cast<double>(budget.bytes.value()) * part);
    // At most one page per file is lost to rounding.
    budget.bytes = whole_pages(std::min(Bytes(share) + kBasePage - Bytes(1), budget.bytes));
  }
  keep_below_limit(budgets, wanted.has_value());
  return budgets;
}

std::vector<std::string> spill_directories(const Options& options) {
  if (options.file_dir.empty()) return {"/var/tmp"};
  std::vector<std::string> directories;
  std::string word;
  const std::string& list = options.file_dir;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const bool escaped = i + 1 < list.size() && list[i] == '\\' && (list[i + 1] == ':' || list[i + 1] == '\\');
    if (i == list.size() || list[i] == ':') {
      if (!word.empty()) directories.push_back(std::move(word));
      word.clear();
    } else {
      word += escaped ? list[++i] : list[i];
    }
  }
  return directories;
}

}  // namespace tessera
