#include "api/allocator.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/ranges.h>
#include <fmt_whole.hpp>

#include "api/budgets.hpp"
#include "base/log.hpp"
#include "base/size_text.hpp"

namespace tessera {
namespace {

// The disk is full before anything has been written to it.
Status too_little_for(const Options& options) {
  return Status(Code::kIo, fmt::format("only {} free in {}, and a page takes {}", rounded_size(space_left(options)),
                                       fmt::join(spill_directories(options), ", "), rounded_size(kBasePage)));
}

// Without spill files the allocator starts all the same, and logs one line.
Result<std::unique_ptr<FileTier>> open_file_tier(const Options& options) {
  auto budgets = file_budgets(options);
  Status missing = budgets.status();
  if (budgets.is_ok()) {
    std::vector<FileSpace> spaces;
    for (auto& [directory, bytes] : budgets.value()) spaces.push_back({directory, bytes});
    auto tier = FileTier::open(std::move(spaces), options.file_write_budget.value_or(kNoWriteBudget));
    if (tier.is_ok() && (tier.value()->usage().capacity || budgets.value().empty())) return tier;
    missing = tier.is_ok() ? too_little_for(options) : tier.status();
  }
  log_line(LogLevel::kWarning, "spill file disabled: {}; --file-dir names another folder", missing.to_string());
  return FileTier::none(std::string(missing.message()));
}

}  // namespace

Result<std::unique_ptr<Allocator>> Allocator::create(std::unique_ptr<Driver> driver, const Options& options,
                                                     const Clock& clock) {
  TESSERA_TRY(options.validate());
  set_log_level(options.level());
  std::unique_ptr<FileTier> file;
  TESSERA_TRY_ASSIGN(file, open_file_tier(options));
  constexpr bool kPump = true;
  return create({clock, std::move(driver), std::move(file), system_host_pages(), kPump, attached_profiler()}, options);
}

// Builds the whole machine, bottom up: driver, tiers, then for each device in use its tier, residency, pages and blocks
// (device_heap.cpp), and the pump that advances moves.
Allocator::Allocator(Foundations foundations, std::vector<Loan> loans, const Options& options)
    : driver_(std::move(foundations.driver)),
      options_(options),
      log_(foundations.clock, foundations.events, !options.history.empty(), foundations.profiler),
      lower_(*driver_, std::move(foundations.file), foundations.host_pages, std::move(loans), options_,
             foundations.clock, foundations.pump),
      heaps_(*driver_, lower_, log_, tags_, options_, foundations.pump, foundations.ledgers_in_use()),
      activity_(heaps_, foundations.clock),
      sharing_(lower_, heaps_),
      recorder_(heaps_, *driver_, options_, foundations.clock),
      oom_(lower_, options_, !foundations.pump),
      unnamed_(heaps_, lower_),
      uses_(heaps_, recorder_, unnamed_, oom_),
      graded_(heaps_, uses_),
      hints_(heaps_, recorder_, tags_, activity_),
      idle_sleep_(heaps_, hints_, activity_, foundations.clock, options_.sleep_when_idle),
      pins_(heaps_, options_.explain),
      mappable_(heaps_, recorder_, tags_, oom_),
      driver_memory_(heaps_, lower_),
      memory_(*driver_, heaps_, lower_, options_),
      streams_(*driver_, heaps_),
      stats_(*driver_, heaps_, lower_, tags_, pins_, activity_),
      reports_(stats_, heaps_, recorder_, log_, tags_, options_, foundations.clock) {
  if (!foundations.pump) return;  // a simulated machine
  Pump::Look look;
  reports_.start(options_);
  if (reports_.has_board() || options_.node != "off") {
    look = [this] { return look_around(); };
  }
  heaps_.start_pump(std::move(look));
  idle_sleep_.start();
}

// On the pump's thread. The other looks are as rare as ever where a shared device needs more.
std::chrono::milliseconds Allocator::look_around() {
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ >= Pump::kBetweenLooks) {
    looked_ = now;
    (void)activity_.look();
    reports_.show();
    sharing_.look();
  }
  return heaps_.look_at_shares();
}

// Threads that use several members end before the first of these does.
Allocator::~Allocator() {
  idle_sleep_.stop();
  reports_.stop();
  heaps_.stop_pump();
  lower_.stop_growing();
}

Result<std::unique_ptr<Allocator>> Allocator::create(Foundations foundations, const Options& options) {
  TESSERA_TRY(options.validate());
  set_log_level(options.level());
  for (const MisspeltVariable& variable : options.misspelt) {
    log_line(LogLevel::kWarning, "unknown environment variable {} is ignored; did you mean {}?", variable.name,
             variable.nearest);
  }
  std::vector<Loan> loans;
  TESSERA_TRY_ASSIGN(loans, peer_loans(options));
  return std::unique_ptr<Allocator>(new Allocator(std::move(foundations), std::move(loans), options));
}

Result<Address> Allocator::allocate(DeviceId device, Bytes bytes, StreamId stream, TagId unless_pushed) {
  DeviceHeap* heap = nullptr;
  TESSERA_TRY_ASSIGN(heap, heaps_.heap(device));
  const TagId pushed = TagStack::current();
  const TagId tag = pushed != TagId() ? pushed : unless_pushed;
  Result<Address> block = heap->blocks().allocate(bytes, stream, tag);
  heaps_.kick_pump(*heap);
  if (!block.is_ok()) return oom_.explain(block.status(), *heap, bytes, OomFigures::Cause::kBlock);
  if (recorder_.is_on()) recorder_.writer().alloc(block.value().value(), bytes, stream, tags_.name_of(tag), device);
  return block;
}

Status Allocator::free(Address address, StreamId stream) {
  DeviceHeap* const heap = heaps_.of(address);
  if (heap == nullptr) return not_ours(address);
  if (recorder_.is_on()) {
    // Before another thread can allocate the same address and log that.
    const auto block = heap->blocks().find(address);
    if (block.is_ok() && block.value().address == address) recorder_.writer().free(address.value());
  }
  return heap->blocks().free(address, stream);
}

Status Allocator::free_after(Address address, std::span<const StreamId> streams) {
  DeviceHeap* const heap = heaps_.of(address);
  if (heap == nullptr) return not_ours(address);
  const bool one = std::adjacent_find(streams.begin(), streams.end(), std::not_equal_to<>()) == streams.end();
  if (one) return free(address, streams.empty() ? kNoStream : streams.front());
  StreamId behind;
  TESSERA_TRY_ASSIGN(behind, heap->join().behind(streams));
  return free(address, behind);
}

void Allocator::mark(std::string_view kind, std::uint64_t number) {
  log_.mark(kind, number);
  if (recorder_.is_on()) recorder_.writer().mark(kind, number);
}

}  // namespace tessera
