// node.h: what the programs of a ledger hold.
#include "tessera/node.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "api/call.hpp"
#include "api/node_memory.hpp"
#include "node/ledger_view.hpp"
#include "tessera/control.h"

namespace tessera {
namespace {

static_assert(sizeof(tessera_node_program::name) > kRowName);

// Where programs with this process's environment have theirs.
Result<std::unique_ptr<LedgerFile>> ledger_named(const char* name) {
  Options options;
  TESSERA_TRY_ASSIGN(options, Options::from_environment());
  return open_ledger_file(ledger_folders(options), name);
}

tessera_node_amounts amounts_in(const LedgerRow& row, std::uint64_t LedgerAmount::*part) {
  return {row.of(NodeResource::kHostMemory).*part, row.of(NodeResource::kFile).*part,
          row.of(NodeResource::kFileWrites).*part};
}

tessera_node_program program_at(const LedgerView& view, std::size_t index) {
  const LedgerRow& row = view.rows[index];
  const auto share = [&](NodeResource resource) { return view.entitlement(resource, index).share.value(); };
  tessera_node_program program{};
  program.pid = row.pid;
  program.pid_namespace = row.pid_namespace;
  std::memcpy(program.name, row.name.data(), row.name.size());
  program.weight = row.weight;
  program.held = amounts_in(row, &LedgerAmount::held);
  program.wanted = amounts_in(row, &LedgerAmount::wanted);
  program.share = {share(NodeResource::kHostMemory), share(NodeResource::kFile), share(NodeResource::kFileWrites)};
  return program;
}

// As the process knows itself: its id in its own namespace.
Result<ProcessId> process_named(std::int64_t pid) {
  tessera_process_identity identity{};
  if (tessera_process_identity_of(pid, &identity) != TESSERA_OK) {
    return Status(Code::kNotFound, fmt::format("no such process: {}", pid));
  }
  return ProcessId{static_cast<std::int32_t>(identity.pid), identity.start_ticks, identity.pid_namespace};
}

}  // namespace
}  // namespace tessera

using namespace tessera;  // the functions below are C and can live in no namespace

extern "C" {

tessera_result tessera_node_programs(const char* name, tessera_node_program* programs, size_t capacity, size_t* count,
                                     tessera_node_amounts* budgets) {
  return api_call([&]() -> Status {
    if (name == nullptr || count == nullptr || budgets == nullptr) return null_argument("name, count and budgets");
    if (programs == nullptr && capacity != 0) return null_argument("programs");
    std::unique_ptr<LedgerFile> file;
    TESSERA_TRY_ASSIGN(file, ledger_named(name));
    TESSERA_TRY_ASSIGN(const LedgerView view, view_ledger(*file));
    const auto budget = [&view](NodeResource resource) { return view.header.budget(resource).value(); };
    *budgets = {budget(NodeResource::kHostMemory), budget(NodeResource::kFile), budget(NodeResource::kFileWrites)};
    *count = view.rows.size();
    for (std::size_t i = 0; i < std::min(capacity, *count); ++i) programs[i] = program_at(view, i);
    return {};
  });
}

tessera_result tessera_node_set_weight(const char* name, int64_t pid, uint32_t weight) {
  return api_call([&]() -> Status {
    if (name == nullptr) return null_argument("name");
    if (weight == 0 || weight > kMostWeight) {
      return Status(Code::kInvalidArgument, fmt::format("weight ({}) must be 1 to {}", weight, kMostWeight));
    }
    TESSERA_TRY_ASSIGN(const ProcessId process, process_named(pid));
    std::unique_ptr<LedgerFile> file;
    TESSERA_TRY_ASSIGN(file, ledger_named(name));
    return set_weight(*file, process, weight);
  });
}

}  // extern "C"
