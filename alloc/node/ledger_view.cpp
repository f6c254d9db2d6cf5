#include "node/ledger_view.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include <fmt/core.h>

#include "base/size_text.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kToolPatience{2000};  // no program waits for a tool

using EachRow = std::function<Status(const LedgerHeader& header, std::size_t index, const LedgerRow& row)>;

// Calls `each` for the rows of living programs, under the lock.
Result<LedgerHeader> visit(LedgerFile& file, const EachRow& each) {
  std::vector<std::byte> bytes(kLedgerBytes);
  TESSERA_TRY_ASSIGN(const std::size_t size, file.read(bytes));
  const std::span<const std::byte> all = std::span(bytes).first(size);
  if (all.empty()) {  // it was made by lock()
    TESSERA_TRY(file.remove());
    return Status(Code::kNotFound, "there is no such ledger");
  }
  const auto header = read_header(all);
  if (!header) return Status(Code::kDataLoss, "the file is not a ledger of this version, or damaged");
  const ProcessId self = this_process();
  for (std::size_t i = 0; i < kLedgerRows; ++i) {
    const auto row = read_row(all, i);
    if (row && life_of(row->process(), self) != Life::kDead) TESSERA_TRY(each(*header, i, *row));
  }
  return *header;
}

Status read_view(LedgerFile& file, LedgerView& view) {
  TESSERA_TRY_ASSIGN(view.header, visit(file, [&view](const LedgerHeader&, std::size_t, const LedgerRow& row) {
                       view.rows.push_back(row);
                       return Status();
                     }));
  return view.rows.empty() ? file.remove() : Status();
}

using ChangeRow = std::function<Status(const LedgerHeader& header, LedgerRow& row)>;

// All rows of the process, or none if one of them may not be changed in this way.
Status change(LedgerFile& file, const ProcessId& process, const ChangeRow& change_row) {
  std::vector<std::pair<std::size_t, LedgerRow>> changed;
  TESSERA_TRY(file.lock(kToolPatience));
  const auto change_all = [&]() -> Status {
    TESSERA_TRY(visit(file, [&](const LedgerHeader& header, std::size_t index, const LedgerRow& row) -> Status {
                  if (row.process() != process) return {};
                  changed.emplace_back(index, row);
                  return change_row(header, changed.back().second);
                }).status());
    for (auto& [index, row] : changed) {
      seal(row);
      TESSERA_TRY(file.write(row_offset(index), std::as_bytes(std::span(&row, 1))));
    }
    return changed.empty() ? Status(Code::kNotFound, fmt::format("process {} shares nothing", process.pid)) : Status();
  };
  Status done = change_all();
  file.unlock();
  return done;
}

}  // namespace

Entitlement LedgerView::entitlement(NodeResource resource, std::size_t index) const {
  std::vector<Claimant> claimants;
  for (const LedgerRow& row : rows) {
    claimants.push_back({Bytes(row.of(resource).held), Bytes(row.of(resource).wanted), row.weight, row.job});
  }
  return tessera::entitlement(header.budget(resource), claimants, index);
}

Result<LedgerView> view_ledger(LedgerFile& file) {
  LedgerView view;
  TESSERA_TRY(file.lock(kToolPatience));
  const Status seen = read_view(file, view);
  file.unlock();
  TESSERA_TRY(seen);
  std::ranges::stable_sort(view.rows, {}, &LedgerRow::pid);
  return view;
}

Status set_weight(LedgerFile& file, const ProcessId& process, std::uint32_t weight) {
  return change(file, process, [weight](const LedgerHeader&, LedgerRow& row) {
    row.weight = weight;
    return Status();
  });
}

Status set_device_limit(LedgerFile& file, const ProcessId& process, Bytes limit) {
  return change(file, process, [limit](const LedgerHeader& header, LedgerRow& row) -> Status {
    const Bytes all = header.budget(NodeResource::kDevice);
    if (limit > all) return Status(Code::kInvalidArgument, fmt::format("the device has {}", rounded_size(all)));
    row.limit_set = limit.value();
    return {};
  });
}

}  // namespace tessera
