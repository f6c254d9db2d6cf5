// This program's part of what all programs of the machine share: pinned host memory, spill files, what is written to
// them.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/node_file.hpp"
#include "api/options.hpp"
#include "base/clock.hpp"
#include "node/node_budget.hpp"
#include "tier/file_tier.hpp"
#include "tier/host_pages.hpp"

namespace tessera {

// Where ledgers may be, the first that exists: folders in memory.
std::vector<std::string> ledger_folders(const Options& options);

// Opens only pages that the budget allows.
class NodeHostPages final : public HostPages {
 public:
  // REQUIRES: both outlive it.
  NodeHostPages(HostPages& pages, NodeBudget& budget) : pages_(pages), budget_(budget) {}
  ~NodeHostPages() override;

  // A staging reserve of this size will be used, which opens its pages elsewhere: it is taken from the budget before
  // the next pages, so that they leave room for it.
  void keep(Bytes reserve);
  void place(void* start, Bytes bytes, unsigned node) override { pages_.place(start, bytes, node); }
  // Waits for other programs where this one is entitled to what they hold (NodeBudget::take).
  bool open(void* start, Bytes bytes) override;
  void close(void* start, Bytes bytes) override;

 private:
  bool take_reserves() EXCLUDES_LOCK(mutex_);

  HostPages& pages_;
  NodeBudget& budget_;
  Mutex mutex_{LockRank::kTier};
  Bytes reserves_ GUARDED_BY(mutex_);  // in all
  Bytes kept_ GUARDED_BY(mutex_);      // of them, taken from the budget
};

class NodeMemory {
 public:
  // Null if the options share nothing, or if there is no ledger: then a line reports it, and the options' own budgets
  // hold. `file` is for tests; it replaces the file that the options name. REQUIRES: clock outlives it.
  static std::unique_ptr<NodeMemory> open(const Options& options, const Clock& clock,
                                          std::unique_ptr<LedgerFile> file = nullptr);

  bool shares_host() const { return shares_host_; }
  // How much host memory this program may hold while no other wants any.
  Bytes host_limit() const { return limit_; }
  NodeBudget& host() { return host_; }
  // Spill files and writes, as far as they are shared.
  NodeFile& file() { return file_; }
  // Lets the tier use no more than this. REQUIRES: FileTier::share's.
  void cover(FileTier& tier);

 private:
  NodeMemory(std::unique_ptr<LedgerFile> file, const Options& options, const Clock& clock, NodeBudgets budgets,
             Bytes limit);

  const bool shares_host_;
  const Bytes limit_, file_limit_;
  Ledger ledger_;
  NodeBudget host_, room_, writes_;
  NodeFile file_;
};

}  // namespace tessera
