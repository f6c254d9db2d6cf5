// Turns "auto" into bytes: how much of this machine each tier may use.
//
// Computed once when an allocator (or one of its devices) starts. For the device it is then an upper limit: the budget
// in force follows what the driver has (tier/handle_tier.hpp). Host memory is checked again before it is taken
// (tier/host_pages.hpp).
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <vector>

#include "api/options.hpp"
#include "tier/peer_tier.hpp"

namespace tessera {

// Space that an unprivileged user may still fill. Errors: kIo with the directory and the reason.
Result<Bytes> free_space(const std::string& directory);

// How much of `free` bytes is left to the driver: for what a context takes after it was made (code loaded at its first
// launch, local memory of kernels, printf buffers), or for a second context.
Bytes context_reserve(Bytes free);
// All free memory minus the reserve, or the option's value, in whole base pages, and never more than is free.
// `memory.free`: without the bytes that the device has yet to lend.
Bytes device_budget(const Options& options, const MemoryInfo& memory);
// Which devices lend, and how much, in whole base pages. Errors: kInvalidArgument.
Result<std::vector<Loan>> peer_loans(const Options& options);
// The loans of existing devices that another device can borrow. Logs the others.
std::vector<Loan> loans_between(std::vector<Loan> loans, int devices);
Bytes host_budget(const Options& options);
// Of all programs of the ledger together, as the first of them computes it.
Bytes node_host_budget(const Options& options);
// Whether the program's spill files are a part of the node's, and whether it has any.
bool shares_file(const Options& options);
Bytes node_file_budget(const Options& options);  // 0: it shares none
// The part of `host`, the host budget, for blocks of pinned memory that the program allocates itself.
Bytes pinned_budget(const Options& options, Bytes host);
// The maximum size of a spill file, and its directory.
struct FileBudget {
  std::string directory;
  Bytes bytes;
};
// Empty if the options disable the file tier. The total is divided among the directories in proportion to their free
// space, and none gets more than that; a directory that cannot be queried is logged and left out. Errors: kIo when none
// can be queried.
Result<std::vector<FileBudget>> file_budgets(const Options& options);
// Bytes free in all spill directories now; a directory that cannot be queried counts as 0.
Bytes space_left(const Options& options);
// The directories of the option file-dir, which separates them by ':'.
std::vector<std::string> spill_directories(const Options& options);

}  // namespace tessera
