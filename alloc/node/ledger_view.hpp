// The ledger as a tool sees it, which is no program of it: what each program holds and may hold, and its weight.
//
// Thread safety: one thread at a time for each file.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "node/ledger_file.hpp"
#include "node/row.hpp"
#include "node/shares.hpp"

namespace tessera {

struct LedgerView {
  LedgerHeader header;
  std::vector<LedgerRow> rows;  // of living programs, in the order of their ids

  // Of the row at `index`.
  Entitlement entitlement(NodeResource resource, std::size_t index) const;
};

// Removes a file whose programs have all ended. Errors: kNotFound where the file is empty; kBusy; kDataLoss when it is
// not a ledger of this version; kIo.
Result<LedgerView> view_ledger(LedgerFile& file);

// Changes the weight in all rows of the process, under the lock. Errors: as view_ledger; kNotFound without such a row.
// REQUIRES: weight is 1 to kMostWeight.
Status set_weight(LedgerFile& file, const ProcessId& process, std::uint32_t weight);
// Sets what the process may hold of a device at most, instead of what its options say; 0: that. Errors: as set_weight;
// kInvalidArgument, and nothing is changed, for more than the device has. REQUIRES: limit is at most kMostNodeBytes.
Status set_device_limit(LedgerFile& file, const ProcessId& process, Bytes limit);

}  // namespace tessera
