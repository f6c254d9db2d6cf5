#include "node/ledger_view.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kToolPatience{2000};  // no program waits for a tool

using EachRow = std::function<Status(std::size_t index, const LedgerRow& row)>;

// Calls `each` for the rows of living programs, under the lock.
Result<LedgerHeader> visit(LedgerFile& file, const EachRow& each) {
  std::vector<std::byte> bytes(kLedgerBytes);
  TESSERA_TRY_ASSIGN(const std::size_t size, file.read(bytes));
  const std::span<const std::byte> all = std::span(bytes).first(size);
  if (all.empty()) return Status(Code::kNotFound, "there is no such ledger");
  const auto header = read_header(all);
  if (!header) return Status(Code::kDataLoss, "the file is not a ledger of this version, or damaged");
  const ProcessId self = this_process();
  for (std::size_t i = 0; i < kLedgerRows; ++i) {
    const auto row = read_row(all, i);
    if (row && life_of(row->process(), self) != Life::kDead) TESSERA_TRY(each(i, *row));
  }
  return *header;
}

Result<LedgerHeader> visit_locked(LedgerFile& file, const EachRow& each) {
  TESSERA_TRY(file.lock(kToolPatience));
  auto header = visit(file, each);
  file.unlock();
  return header;
}

}  // namespace

Entitlement LedgerView::entitlement(NodeResource resource, std::size_t index) const {
  std::vector<Claimant> claimants;
  for (const LedgerRow& row : rows) {
    claimants.push_back({Bytes(row.of(resource).held), Bytes(row.of(resource).wanted), row.weight});
  }
  return tessera::entitlement(header.budget(resource), claimants, index);
}

Result<LedgerView> view_ledger(LedgerFile& file) {
  LedgerView view;
  TESSERA_TRY_ASSIGN(view.header, visit_locked(file, [&view](std::size_t, const LedgerRow& row) {
                       view.rows.push_back(row);
                       return Status();
                     }));
  std::ranges::stable_sort(view.rows, {}, &LedgerRow::pid);
  return view;
}

Status set_weight(LedgerFile& file, const ProcessId& process, std::uint32_t weight) {
  bool found = false;
  TESSERA_TRY(visit_locked(file, [&](std::size_t index, const LedgerRow& row) -> Status {
                if (row.process() != process) return {};
                found = true;
                LedgerRow changed = row;
                changed.weight = weight;
                seal(changed);
                return file.write(row_offset(index), std::as_bytes(std::span(&changed, 1)));
              }).status());
  return found ? Status() : Status(Code::kNotFound, fmt::format("process {} shares nothing", process.pid));
}

}  // namespace tessera
