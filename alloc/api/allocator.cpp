#include "api/allocator.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/budgets.hpp"
#include "base/log.hpp"
#include "base/size_text.hpp"
#include "observe/text_file.hpp"

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
  log_line(LogLevel::kWarning, "spill file disabled: {}", missing.to_string());
  return FileTier::none(std::string(missing.message()));
}

// A trace that cannot be opened does not prevent the start either; null if there is none.
std::unique_ptr<TraceWriter> open_trace(const Options& options, const Clock& clock) {
  if (options.trace.empty()) return nullptr;
  auto trace = TraceWriter::open(path_of_process(options.trace),
                                 {program_invocation_short_name, options.device_memory.value_or(SizeOrShare()).bytes},
                                 clock, TraceWriter::kDefaultLimit, left_in(options.trace, options.under_run));
  if (trace.is_ok()) return trace.take();
  log_line(LogLevel::kWarning, "no trace: {}", trace.status().to_string());
  return nullptr;
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
Result<std::unique_ptr<Allocator>> Allocator::create(Foundations foundations, const Options& options) {
  TESSERA_TRY(options.validate());
  set_log_level(options.level());
  for (const MisspeltVariable& variable : options.misspelt) {
    log_line(LogLevel::kWarning, "unknown environment variable {} is ignored; did you mean {}?", variable.name,
             variable.nearest);
  }
  const Clock& clock = foundations.clock;
  HostPages& pages = foundations.host_pages;
  const bool pump = foundations.pump;
  std::unique_ptr<Allocator> a(new Allocator(std::move(foundations), options));
  const Bytes host = host_budget(options);
  const Bytes staging = HostTier::staging_for(host, a->file_->usage().capacity);
  a->host_pages_ = std::make_unique<RegisteredPages>(pages, *a->file_);
  a->host_ = std::make_unique<HostTier>(*a->driver_, host, staging, *a->host_pages_);
  a->host_memory_ = std::make_unique<HostMemory>(*a->driver_, *a->host_, pinned_budget(options, host));
  a->host_->on_shortage([blocks = a->host_memory_.get()] { blocks->trim(); });
  if (pump) a->host_->grow_in_background();
  std::vector<Loan> loans;
  TESSERA_TRY_ASSIGN(loans, peer_loans(options));
  a->open_peers(std::move(loans));
  a->trace_ = open_trace(options, clock);
  if (a->trace_) a->op_times_ = std::make_unique<OpTimes>(*a->driver_, *a->trace_);
  Allocator* self = a.get();
  std::function<void()> look;
  if (pump && !options.control_dir.empty()) a->board_ = LiveBoard::open_if_possible();
  if (a->board_) look = [self] { self->show(); };
  if (pump) a->pump_ = std::make_unique<Pump>([self] { return self->advance(); }, look);
  if (pump && a->outputs_.has_any()) a->ticker_ = std::make_unique<Ticker>([self] { self->keep_reports(); });
  return a;
}

Allocator::Allocator(Foundations foundations, const Options& options)
    : driver_(std::move(foundations.driver)),
      options_(options),
      log_(foundations.clock, foundations.events, !options.history.empty(), foundations.profiler),
      began_(log_.now()),
      exposures_(options.explain),
      file_(std::move(foundations.file)),
      policies_{{Nanoseconds(), options.policy}},
      outputs_(options, foundations.clock) {}

// Threads that use several members end before the first of these does.
Allocator::~Allocator() {
  ticker_.reset();
  pump_.reset();
  if (host_) host_->stop_growing();
}

// ---- devices ------------------------------------------------------------------------------------

Result<DeviceHeap*> Allocator::heap(DeviceId device) {
  if (device.value() >= kMaxDevices) {
    return Status(Code::kInvalidArgument, fmt::format("no such device: {}", device.value()));
  }
  auto& entry = heaps_[device.value()];
  if (DeviceHeap* known = entry.load(std::memory_order_acquire)) return known;
  static_assert(kMaxDevices * PageFiles::kMostInFile <= FileIo::kMaxTransfers);
  MutexLock lock(mutex_);
  if (DeviceHeap* known = entry.load()) return known;
  BackingTier* backing = nullptr;
  TESSERA_TRY_ASSIGN(backing, backing_for(device));
  Options options = options_;
  options.policy = policies_.back().name;
  std::unique_ptr<DeviceHeap> made;
  TESSERA_TRY_ASSIGN(
      made, DeviceHeap::create(*driver_, device, {*host_, *file_, backing, peer_for(device), to_lend(device)}, log_,
                               options, pump_ ? PlanSimulator::Answer::kWhenReady : PlanSimulator::Answer::kWaits,
                               [this](TagId tag) { return tags_.class_of(tag); }));
  const std::uint64_t low = made->pages().low().value(), high = made->pages().high().value();
  if (high_.load() == 0 || low < low_.load()) low_.store(low);
  if (high > high_.load()) high_.store(high);
  TESSERA_TRY(made->residency().set_automatic(automatic_));
  if (unseen_.load()) made->residency().expect_unseen_work();
  for (const char* name : waiting_) made->residency().expect_waiting(name);
  owned_.push_back(std::move(made));
  entry.store(owned_.back().get(), std::memory_order_release);
  only_heap_.store(owned_.size() == 1 ? owned_.back().get() : nullptr, std::memory_order_release);
  if (backing != nullptr) backed_devices_.fetch_or(std::uint64_t{1} << device.value());
  return owned_.back().get();
}

DeviceHeap* Allocator::heap_of(Address address) const {
  if (address.value() < low_.load(std::memory_order_relaxed)) return nullptr;
  if (address.value() >= high_.load(std::memory_order_relaxed)) return nullptr;
  for (const auto& entry : heaps_) {
    DeviceHeap* heap = entry.load(std::memory_order_acquire);
    if (heap != nullptr && heap->holds(address)) return heap;
  }
  return nullptr;
}

Status Allocator::not_ours(Address address) {
  return Status(Code::kNotFound, fmt::format("{:#x} is not inside a live block", address.value()));
}

template <class Act>
Status Allocator::with_run(Address address, Act act) {
  if (DeviceHeap* heap = heap_of(address)) {
    const BlockCache::Lookup lookup(heap->blocks());
    if (Run* run = lookup.run_of(address)) return act(*heap, run);
  }
  return not_ours(address);
}

Status Allocator::is_ours(Address address) {
  return with_run(address, [](DeviceHeap&, Run*) { return Status(); });
}

bool Allocator::advance() {
  bool busy = false;
  for (const auto& entry : heaps_) {
    DeviceHeap* heap = entry.load(std::memory_order_acquire);
    if (heap == nullptr || !heap->residency().has_work()) continue;
    heap->residency().advance();
    busy = busy || heap->residency().has_work();
  }
  return busy;
}

void Allocator::kick_pump(DeviceHeap& heap) {
  if (pump_ && heap.residency().has_work()) pump_->kick();
}

// ---- blocks -------------------------------------------------------------------------------------

Result<Address> Allocator::allocate(DeviceId device, Bytes bytes, StreamId stream, TagId unless_pushed) {
  DeviceHeap* heap = nullptr;
  TESSERA_TRY_ASSIGN(heap, this->heap(device));
  const TagId pushed = TagStack::current();
  const TagId tag = pushed != TagId() ? pushed : unless_pushed;
  Result<Address> block = heap->blocks().allocate(bytes, stream, tag);
  kick_pump(*heap);
  if (!block.is_ok()) return explain(block.status(), *heap, bytes, OomFigures::Cause::kBlock);
  if (trace_) trace_->alloc(block.value().value(), bytes, stream, tags_.name_of(tag), device);
  return block;
}

Status Allocator::free(Address address, StreamId stream) {
  DeviceHeap* heap = heap_of(address);
  if (heap == nullptr) return not_ours(address);
  if (trace_) {
    // Before another thread can allocate the same address and log that.
    const auto block = heap->blocks().find(address);
    if (block.is_ok() && block.value().address == address) trace_->free(address.value());
  }
  return heap->blocks().free(address, stream);
}

Status Allocator::trim() {
  Status result;
  for (const auto& entry : heaps_) {
    DeviceHeap* heap = entry.load(std::memory_order_acquire);
    if (heap == nullptr) continue;
    if (Status status = heap->blocks().trim(); !status.is_ok()) result = status;
    heap->residency().trim();
  }
  host_memory_->trim();
  return result;
}

Status Allocator::trim_device(DeviceId device, Bytes keep) {
  DeviceHeap* const heap = made_heap(device);
  return heap == nullptr ? Status() : heap->residency().trim_device(keep);
}

Status Allocator::trim_device_by(DeviceId device, Bytes bytes) {
  DeviceHeap* const heap = made_heap(device);
  if (heap == nullptr) return {};
  const TierUsage usage = heap->tier().usage();
  const Bytes held = usage.used + usage.spare;
  return heap->residency().trim_device(held - std::min(held, bytes));
}

// The heap itself ends with the allocator: the pump may be looking at it.
void Allocator::end_device(DeviceId device) {
  if (device.value() >= kMaxDevices) return;
  DeviceHeap* const heap = heaps_[device.value()].exchange(nullptr);
  if (heap == nullptr) return;
  heap->blocks().release_all();
  heap->residency().trim();
}

// Also returns unused memory lent to other devices.
Result<Bytes> Allocator::begin_yield(DeviceId device, Bytes wanted) {
  DeviceHeap* const heap = made_heap(device);
  if (heap == nullptr) return Bytes();
  if (peer_ != nullptr) peer_->trim();
  TESSERA_TRY_ASSIGN(const Bytes yielded, heap->residency().begin_yield(wanted));
  if (!yielded) heap->residency().end_yield();
  kick_pump(*heap);
  return yielded;
}

void Allocator::end_yield(DeviceId device) {
  DeviceHeap* const heap = made_heap(device);
  if (heap != nullptr) heap->residency().end_yield();
}

Result<Bytes> Allocator::yield_host() {
  for (const auto& entry : heaps_) {
    DeviceHeap* const heap = entry.load(std::memory_order_acquire);
    if (heap != nullptr) TESSERA_TRY(heap->residency().drop_host_copies());
  }
  return host_->yield();
}

void Allocator::expect_device_memory() {
  for (const auto& entry : heaps_) {
    DeviceHeap* const heap = entry.load(std::memory_order_acquire);
    if (heap != nullptr) heap->tier().expect_more();
  }
}

// ---- hints --------------------------------------------------------------------------------------

Status Allocator::prefetch(std::span<const Address> addresses) {
  for (Address address : addresses) {
    TESSERA_TRY(with_run(address, [this, address](DeviceHeap& heap, Run* run) {
      std::vector<Run*> runs;
      for_each_named(heap.pages().map(), run, address, [&runs](Run* part) { runs.push_back(part); });
      Status status = heap.residency().prefetch(runs);
      kick_pump(heap);
      return status;
    }));
  }
  return {};
}

Status Allocator::evict(std::span<const Address> addresses) {
  for (Address address : addresses) TESSERA_TRY(is_ours(address));
  for (const auto& entry : heaps_) {
    DeviceHeap* const heap = entry.load(std::memory_order_acquire);
    if (heap == nullptr) continue;
    const BlockCache::Lookup lookup(heap->blocks());
    std::vector<Run*> runs;
    for (Address address : addresses) {
      Run* const run = heap->holds(address) ? lookup.run_of(address) : nullptr;
      if (run == nullptr) continue;  // it is on another device, or was freed meanwhile
      for_each_named(heap->pages().map(), run, address, [&runs](Run* part) { runs.push_back(part); });
    }
    if (runs.empty()) continue;
    const Status status = heap->residency().evict(runs);
    kick_pump(*heap);
    TESSERA_TRY(status);
  }
  return {};
}

Status Allocator::pin(Address address) { return pin(address, nullptr); }

// Calls `act(residency, run, held)`; `act` calls `held` once the run cannot be removed any more.
template <class Act>
Status Allocator::with_run_until_held(Address address, Act act) {
  DeviceHeap* const heap = heap_of(address);
  if (heap == nullptr) return not_ours(address);
  std::optional<BlockCache::Lookup> lookup(heap->blocks());
  Run* const run = lookup->run_of(address);
  if (run == nullptr) return not_ours(address);
  return act(heap->residency(), run, [&lookup] { lookup.reset(); });
}

Status Allocator::pin(Address address, const char* exposed_by) {
  return with_run_until_held(address, [exposed_by](Residency& residency, Run* run, const Held& held) {
    return residency.pin(&run->whole(), exposed_by, held);
  });
}

Status Allocator::unpin(Address address) {
  return with_run(address, [](DeviceHeap& heap, Run* run) { return heap.residency().unpin(&run->whole()); });
}

Status Allocator::expose(Address address, const char* reason) {
  TESSERA_TRY(pin(address, reason));
  exposures_.note(reason);
  return {};
}

Status Allocator::keep(Address address, const char* reason) {
  TESSERA_TRY(with_run_until_held(address, [reason](Residency& residency, Run* run, const Held& held) {
    return residency.keep(&run->whole(), reason, held);
  }));
  exposures_.note(reason);
  return {};
}

Status Allocator::unkeep(Address address) {
  return with_run(address, [](DeviceHeap& heap, Run* run) { return heap.residency().unkeep(&run->whole()); });
}

Status Allocator::set_recompute(Address address, Recomputer recomputer, Nanoseconds cost) {
  DeviceHeap* const heap = heap_of(address);
  if (heap == nullptr) return not_ours(address);
  const BlockCache::Lookup lookup(heap->blocks());
  const auto block = lookup.block_of(address);
  if (!block) return not_ours(address);
  Recompute recompute{{}, recomputer ? std::max(cost, Nanoseconds(1)) : Nanoseconds()};
  const Nanoseconds recorded = recompute.cost;
  if (recomputer) {
    recompute.work = [recomputer = std::move(recomputer), at = block->address, bytes = block->bytes](StreamId on) {
      return recomputer(at, bytes, on);
    };
  }
  TESSERA_TRY(heap->residency().set_recompute(block->run, std::move(recompute)));
  if (trace_) trace_->remakable(block->address.value(), recorded);
  return {};
}

Status Allocator::retire_stream(StreamId stream) {
  for (const auto& entry : heaps_) {
    DeviceHeap* heap = entry.load(std::memory_order_acquire);
    if (heap != nullptr) TESSERA_TRY(heap->blocks().retire(stream));
  }
  return {};
}

Status Allocator::mark(std::string_view kind, std::uint64_t number) {
  log_.mark(kind, number);
  if (trace_) trace_->mark(kind, number);
  return {};
}

}  // namespace tessera
