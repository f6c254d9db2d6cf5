#include "lab/fuzz/fuzz.hpp"

#include <charconv>

#include <fmt_whole.hpp>
#include <nlohmann/json.hpp>

#include "lab/fuzz/fuzz_player.hpp"

namespace tessera {
namespace {

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

void count_moves(FuzzMachine& machine, FuzzResult& result) {
  const tessera_stats stats = machine.allocator().stats().snapshot().totals;
  result.evictions = stats.evictions;
  result.fetches = stats.fetches;
  result.exchanges = stats.exchanges;
  result.recomputes = stats.recomputes;
  result.unchanged = stats.unchanged_evictions;
  result.peer_pages = stats.bytes_peer_in / kBasePage.value();
  result.sinks = stats.bytes_file_written / kBasePage.value();
}

}  // namespace

Result<std::vector<std::uint32_t>> parse_kept(std::string_view text, std::uint32_t count) {
  std::vector<std::uint32_t> kept;
  if (text.empty()) {
    for (std::uint32_t i = 0; i < count; ++i) kept.push_back(i);
    return kept;
  }
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t dash = part.find('-');
    const auto first = number_in(part.substr(0, dash));
    const auto last = dash == part.npos ? first : number_in(part.substr(dash + 1));
    if (!first || !last || *first > *last || *last >= count || (!kept.empty() && kept.back() >= *first)) {
      return Status(Code::kInvalidArgument,
                    fmt::format("'{}' is not an ascending list of operations below {}", part, count));
    }
    for (std::uint32_t i = *first; i <= *last; ++i) kept.push_back(i);
  }
  return kept;
}

Result<FuzzResult> fuzz(std::uint64_t seed, std::uint32_t operations, const std::vector<std::uint32_t>& kept) {
  const FuzzProgram program = make_fuzz(seed, operations);
  std::unique_ptr<FuzzMachine> machine;
  TESSERA_TRY_ASSIGN(machine, FuzzMachine::create(program.setup));
  FuzzResult result;
  bool may_leak = false;
  {
    FuzzPlayer player(program.setup, *machine);
    for (const std::uint32_t index : kept) {
      if (player.failure()) break;
      player.play(program.ops[index]);
      ++result.played;
    }
    if (!player.failure()) player.finish();
    count_moves(*machine, result);
    result.failure = player.failure();
    result.faults = player.struck();
    result.errors = player.errors();
    result.policies = player.policies_set();
    result.alone = player.alone();
    result.faulted = player.faulted();
    result.digest = player.digest();
    may_leak = player.may_leak();
  }
  const std::vector<std::string> leaks = machine->end();
  if (may_leak) return result;  // a page that cannot be unmapped prevents the release of its addresses
  if (!result.failure) result.failure = machine->violation();
  if (!result.failure && !leaks.empty()) {
    result.failure = fmt::format("leaked {}", fmt::join(leaks, ", "));
  }
  return result;
}

std::string fuzz_json(std::uint64_t seed, std::uint32_t operations, const std::vector<std::uint32_t>& kept,
                      const FuzzResult& result) {
  nlohmann::ordered_json json;
  json["seed"] = seed;
  json["operations"] = operations;
  json["played"] = result.played;
  json["passed"] = !result.failure;
  json["faults"] = result.faults;
  json["errors"] = result.errors;
  json["evictions"] = result.evictions;
  json["fetches"] = result.fetches;
  json["file_pages"] = result.sinks;
  json["recomputes"] = result.recomputes;
  json["unchanged"] = result.unchanged;
  json["peer_pages"] = result.peer_pages;
  json["exchanges"] = result.exchanges;
  json["policies"] = result.policies;
  json["alone"] = result.alone;
  json["faulted"] = result.faulted;
  json["digest"] = fmt::format("{:016x}", result.digest);
  if (!result.failure) return json.dump();
  json["failure"] = *result.failure;
  const FuzzProgram program = make_fuzz(seed, operations);
  json["machine"] = describe(program.setup);
  for (std::uint32_t i = 0; i < result.played; ++i) {
    json["list"].push_back(fmt::format("{}: {}", kept[i], describe(program.ops[kept[i]])));
  }
  return json.dump();
}

}  // namespace tessera
