// node.h: what the programs of a ledger hold.
#include "tessera/node.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "api/call.hpp"
#include "api/node_memory.hpp"
#include "base/clock.hpp"
#include "base/size_text.hpp"
#include "node/device_view.hpp"
#include "node/ledger_view.hpp"
#include "tessera/control.h"

namespace tessera {
namespace {

static_assert(sizeof(tessera_node_program::name) > kRowName);
static_assert(sizeof(tessera_node_program::job) > kRowJob);

// One large page.
constexpr Bytes kLeastDeviceLimit = 32_MiB;

// Where programs with this process's environment have theirs.
Result<std::vector<std::string>> folders() {
  Options options;
  TESSERA_TRY_ASSIGN(options, Options::from_environment());
  return ledger_folders(options);
}

Result<std::unique_ptr<LedgerFile>> ledger_named(const char* name, const std::string& device = {}) {
  TESSERA_TRY_ASSIGN(const std::vector<std::string> parents, folders());
  return open_ledger_file(parents, name, device);
}

using EachLedger = std::function<Status(LedgerFile& file, const std::string& device)>;

// Calls `each` for the ledgers of devices whose id begins with `start`. A ledger that is empty or gone is passed over.
Status for_devices(const char* name, const std::string& start, const EachLedger& each) {
  TESSERA_TRY_ASSIGN(const std::vector<std::string> parents, folders());
  for (const std::string& device : devices_with_ledgers(parents, name)) {
    if (!device.starts_with(start)) continue;
    std::unique_ptr<LedgerFile> file;
    TESSERA_TRY_ASSIGN(file, open_ledger_file(parents, name, device));
    Status done = each(*file, device);
    if (!done.is_ok() && done.code() != Code::kNotFound) return done;
  }
  return {};
}

template <std::size_t kSize>
void copy_text(std::string_view text, char (&to)[kSize]) {
  text.copy(to, kSize - 1);
}

tessera_node_turn turn_of(Turn turn) {
  switch (turn) {
    case Turn::kHas: return TESSERA_NODE_TURN_HAS;
    case Turn::kWaits: return TESSERA_NODE_TURN_WAITS;
    case Turn::kNone: break;
  }
  return TESSERA_NODE_TURN_NONE;
}

tessera_node_device_program program_of(const DeviceView& view, const DeviceProgram& of, const std::string& device) {
  const LedgerRow& row = of.row;
  const LedgerAmount& amount = row.of(NodeResource::kDevice);
  tessera_node_device_program program{};
  copy_text(device, program.device);
  copy_text({row.name.data(), ::strnlen(row.name.data(), row.name.size())}, program.name);
  program.pid = row.pid;
  program.pid_namespace = row.pid_namespace;
  program.weight = row.weight;
  program.active = of.active ? 1 : 0;
  program.turn = turn_of(of.turn);
  program.total = view.total.value();
  program.budget = view.budget.value();
  program.held = amount.held;
  program.wanted = std::max(amount.wanted, amount.held);
  program.share = row.ceiling;
  program.limit = row.limit_set == 0 ? row.limit : row.limit_set;
  program.turns = row.turns;
  program.turn_left_ns = of.left.value();
  program.waited_ns = row.waited_ns;
  return program;
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
  std::memcpy(program.job, row.job_name.data(), row.job_name.size());
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
    Status last = set_weight(*file, process, weight);
    if (!last.is_ok() && last.code() != Code::kNotFound) return last;
    TESSERA_TRY(for_devices(name, "", [&](LedgerFile& of_device, const std::string&) {
      const Status set = set_weight(of_device, process, weight);
      if (set.is_ok()) last = set;
      return set;
    }));
    return last;
  });
}

tessera_result tessera_node_device_programs(const char* name, tessera_node_device_program* programs, size_t capacity,
                                            size_t* count) {
  return api_call([&]() -> Status {
    if (name == nullptr || count == nullptr) return null_argument("name and count");
    if (programs == nullptr && capacity != 0) return null_argument("programs");
    TESSERA_TRY(ledger_named(name).status());  // an impossible name
    std::size_t found = 0;
    TESSERA_TRY(for_devices(name, "", [&](LedgerFile& file, const std::string& device) -> Status {
      TESSERA_TRY_ASSIGN(const LedgerView ledger, view_ledger(file));
      const DeviceView view = device_view(ledger, SteadyClock().now());
      for (const DeviceProgram& program : view.programs) {
        if (found < capacity) programs[found] = program_of(view, program, device);
        ++found;
      }
      return {};
    }));
    *count = found;
    return {};
  });
}

tessera_result tessera_node_set_device_limit(const char* name, int64_t pid, const char* device, uint64_t bytes) {
  return api_call([&]() -> Status {
    if (name == nullptr || device == nullptr) return null_argument("name and device");
    if (bytes != 0 && (Bytes(bytes) < kLeastDeviceLimit || Bytes(bytes) > kMostNodeBytes)) {
      return Status(
          Code::kInvalidArgument,
          fmt::format("a device limit ({}) must be from {} to what the device has, or 0 for that of its options",
                      size_text(Bytes(bytes)), size_text(kLeastDeviceLimit)));
    }
    TESSERA_TRY_ASSIGN(const ProcessId process, process_named(pid));
    TESSERA_TRY(ledger_named(name).status());
    Status last(Code::kNotFound, fmt::format("process {} shares no such device", pid));
    TESSERA_TRY(for_devices(name, device, [&](LedgerFile& file, const std::string&) {
      const Status set = set_device_limit(file, process, Bytes(bytes));
      if (set.is_ok()) last = set;
      return set;
    }));
    return last;
  });
}

}  // extern "C"
