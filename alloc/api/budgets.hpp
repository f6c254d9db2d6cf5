// Turns "auto" into bytes: how much of this machine each tier may use.
//
// Asked once when an allocator (or one of its devices) starts. The device's is a limit from then on: what is in force
// follows what the driver has (tier/handle_tier.hpp). Host memory is asked for again before it is taken
// (tier/host_pages.hpp).
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <vector>

#include "api/options.hpp"
#include "tier/peer_tier.hpp"

namespace tessera {

// Space a normal user may still fill. Errors: kIo with the directory and the reason.
Result<Bytes> free_space(const std::string& directory);

// What stays with the driver of `free` bytes: what a context still takes after it was made (code that is loaded when it
// is first launched, local memory of kernels, printf buffers), or what a second context takes.
Bytes context_reserve(Bytes free);
// All of `free` but the reserve, or the option's value, in whole base pages, and never more than `free`: what is free but
// for what the device has yet to lend.
Bytes device_budget(const Options& options, Bytes free);
// Who lends how much, in whole base pages. Errors: kInvalidArgument.
Result<std::vector<Loan>> peer_loans(const Options& options);
// Those of devices that there are, where there is one besides that can borrow. Says what it leaves out.
std::vector<Loan> loans_between(std::vector<Loan> loans, int devices);
Bytes host_budget(const Options& options);
// How much may lie in a spill file, and where.
struct FileBudget {
  std::string directory;
  Bytes bytes;
};
// Empty when there is to be no file tier. Each directory gets a part of the whole as large as its part of
// their free space, and never more than it has room for; one that cannot be asked is said and left out.
// Errors: kIo when none can be asked.
Result<std::vector<FileBudget>> file_budgets(const Options& options);
// Those of file-dir, which separates them by ':'.
std::vector<std::string> spill_directories(const Options& options);

}  // namespace tessera
