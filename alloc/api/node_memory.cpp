#include "api/node_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "api/budgets.hpp"
#include "base/available_memory.hpp"
#include "base/log.hpp"
#include "base/page_class.hpp"

namespace tessera {
namespace {

// Grants are large, so that a program that grows asks seldom; on a small budget they leave something for the others.
constexpr Bytes kMostPiece = 256_MiB;
constexpr std::uint64_t kPiecesInBudget = 128;

Bytes piece_of(Bytes budget) {
  return std::clamp(budget / kPiecesInBudget / kBasePage * kBasePage, kBasePage, kMostPiece);
}

std::vector<std::string> parents(const Options& options) {
  std::vector<std::string> folders{"/dev/shm"};
  if (!options.runtime_dir.empty()) folders.push_back(options.runtime_dir);
  return folders;
}

}  // namespace

NodeHostPages::~NodeHostPages() {
  const MutexLock lock(mutex_);
  budget_.give(kept_);
}

void NodeHostPages::keep(Bytes reserve) {
  const MutexLock lock(mutex_);
  reserves_ += reserve;
}

bool NodeHostPages::take_reserves() {
  const MutexLock lock(mutex_);
  if (kept_ == reserves_) return true;
  if (!budget_.take(reserves_ - kept_)) return false;
  kept_ = reserves_;
  return true;
}

bool NodeHostPages::open(void* start, Bytes bytes) {
  if (!take_reserves() || !budget_.take(bytes)) {
    errno = kHostPagesInUseElsewhere;
    return false;
  }
  if (pages_.open(start, bytes)) return true;
  const int error = errno;
  budget_.give(bytes);
  errno = error;
  return false;
}

void NodeHostPages::close(void* start, Bytes bytes) {
  pages_.close(start, bytes);
  budget_.give(bytes);
}

std::unique_ptr<NodeMemory> NodeMemory::open(const Options& options, const Clock& clock,
                                             std::unique_ptr<LedgerFile> file) {
  if (options.node == "off" || options.host_memory) return nullptr;
  if (file == nullptr) {
    auto opened = open_ledger_file(parents(options), options.node);
    if (!opened.is_ok()) {
      const auto level = opened.status().code() == Code::kNotFound ? LogLevel::kInfo : LogLevel::kWarning;
      log_line(level, "host memory is not shared with other programs: {}", opened.status().message());
      return nullptr;
    }
    file = opened.take();
  }
  const auto known = budgets_in_force(*file);
  if (!known.is_ok() && known.status().code() != Code::kBusy) {
    log_line(LogLevel::kWarning, "host memory is not shared with other programs: {}", known.status().message());
    return nullptr;
  }
  Bytes budget = node_host_budget(options);
  if (known.is_ok() && known.value()) budget = (*known.value())[static_cast<std::size_t>(NodeResource::kHostMemory)];
  // The machine, or the control group of this process, may have less by now, or another limit.
  const Bytes usual = std::min(budget, available_memory()) / 2;
  const Bytes limit = options.node_host_memory ? budget : usual / kBasePage * kBasePage;
  return std::unique_ptr<NodeMemory>(new NodeMemory(std::move(file), options, clock, {budget, Bytes()}, limit));
}

NodeMemory::NodeMemory(std::unique_ptr<LedgerFile> file, const Options& options, const Clock& clock,
                       NodeBudgets budgets, Bytes limit)
    : limit_(limit),
      ledger_(std::move(file), clock, Ledger::Self{this_process(), options.node_weight, program_invocation_short_name},
              budgets),
      host_(ledger_, NodeResource::kHostMemory, clock, {piece_of(budgets[0]), limit}) {}

}  // namespace tessera
