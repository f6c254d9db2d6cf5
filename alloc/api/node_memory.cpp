#include "api/node_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
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

void log_unshared(LogLevel level, std::string_view why) {
  log_line(level, "memory is not shared with other programs: {}; --node NAME takes another ledger, --node off none",
           why);
}

Bytes piece_of(Bytes budget) {
  return std::clamp(budget / kPiecesInBudget / kBasePage * kBasePage, kBasePage, kMostPiece);
}

constexpr std::size_t index_of(NodeResource resource) { return static_cast<std::size_t>(resource); }

// What this program would share out, were it the first.
NodeBudgets own_budgets(const Options& options) {
  NodeBudgets budgets{};
  budgets[index_of(NodeResource::kHostMemory)] = node_host_budget(options);
  budgets[index_of(NodeResource::kFile)] = node_file_budget(options);
  budgets[index_of(NodeResource::kFileWrites)] = options.node_file_write_budget.value_or(Bytes());
  return budgets;
}

std::string job_in(const Options& options) {
  if (options.node_job == "off") return "";
  return options.node_job == "auto" ? options.job_of_launcher : options.node_job;
}

// What is in a file cannot be returned on request, so no call waits for it.
NodeBudget::Limits at_once(const NodeBudgets& budgets, NodeResource resource) {
  const Bytes all = budgets[index_of(resource)];
  return {piece_of(all), all, Nanoseconds()};
}

}  // namespace

std::vector<std::string> ledger_folders(const Options& options) {
  std::vector<std::string> folders{"/dev/shm"};
  if (!options.runtime_dir.empty()) folders.push_back(options.runtime_dir);
  return folders;
}

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
  const bool shares_writes = !options.file_write_budget && (shares_file(options) || options.file_memory);
  if (options.node == "off" || (options.host_memory && !shares_file(options) && !shares_writes)) return nullptr;
  if (file == nullptr) {
    auto opened = open_ledger_file(ledger_folders(options), options.node);
    if (!opened.is_ok()) {
      const auto level = opened.status().code() == Code::kNotFound ? LogLevel::kInfo : LogLevel::kWarning;
      log_unshared(level, opened.status().message());
      return nullptr;
    }
    file = opened.take();
    remove_ended_ledgers(ledger_folders(options), clock);
  }
  const auto known = budgets_in_force(*file);
  if (!known.is_ok() && known.status().code() != Code::kBusy) {
    log_unshared(LogLevel::kWarning, known.status().message());
    return nullptr;
  }
  NodeBudgets budgets = own_budgets(options);
  for (std::size_t i = 0; known.is_ok() && known.value() && i < kNodeResources; ++i) {
    if ((*known.value())[i]) budgets[i] = (*known.value())[i];
  }
  const Bytes budget = budgets[index_of(NodeResource::kHostMemory)];
  // The machine, or the control group of this process, may have less by now, or another limit.
  const Bytes usual = std::min(budget, available_memory()) / 2;
  const Bytes limit = options.node_host_memory ? budget : usual / kBasePage * kBasePage;
  return std::unique_ptr<NodeMemory>(new NodeMemory(std::move(file), options, clock, budgets, limit));
}

NodeMemory::NodeMemory(std::unique_ptr<LedgerFile> file, const Options& options, const Clock& clock,
                       NodeBudgets budgets, Bytes limit)
    : shares_host_(!options.host_memory),
      limit_(limit),
      file_limit_(shares_file(options) ? budgets[index_of(NodeResource::kFile)] : kMostNodeBytes),
      ledger_(std::move(file), clock,
              Ledger::Self{this_process(), options.node_weight, program_invocation_short_name, job_in(options)},
              budgets),
      host_(ledger_, NodeResource::kHostMemory, clock, {piece_of(budgets[0]), limit}),
      room_(ledger_, NodeResource::kFile, clock, at_once(budgets, NodeResource::kFile)),
      writes_(ledger_, NodeResource::kFileWrites, clock, at_once(budgets, NodeResource::kFileWrites)),
      file_(shares_file(options) ? &room_ : nullptr,
            !options.file_write_budget && budgets[index_of(NodeResource::kFileWrites)] ? &writes_ : nullptr) {}

void NodeMemory::cover(FileTier& tier) { tier.share(file_, file_limit_); }

}  // namespace tessera
