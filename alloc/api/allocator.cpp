#include "api/allocator.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <functional>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "api/budgets.hpp"
#include "base/log.hpp"
#include "observe/text_file.hpp"

namespace tessera {
namespace {

// Spill files that cannot be had are no reason not to start: one line, and on without them.
Result<std::unique_ptr<FileTier>> open_file_tier(const Options& options) {
  auto budgets = file_budgets(options);
  Status missing = budgets.status();
  if (budgets.is_ok()) {
    std::vector<FileSpace> spaces;
    for (auto& [directory, bytes] : budgets.value()) spaces.push_back({directory, bytes});
    auto tier = FileTier::open(std::move(spaces), options.file_write_budget.value_or(kNoWriteBudget));
    if (tier.is_ok()) return tier;
    missing = tier.status();
  }
  log_line(LogLevel::kWarning, "no file tier: {}", missing.to_string());
  return FileTier::open("", Bytes(0));
}

// Nor is a trace; null when there is none.
std::unique_ptr<TraceWriter> open_trace(const Options& options, const Clock& clock) {
  if (options.trace.empty()) return nullptr;
  auto trace = TraceWriter::open(path_of_process(options.trace), {program_invocation_short_name,
                                                 options.device_memory.value_or(Bytes())}, clock);
  if (trace.is_ok()) return trace.take();
  log_line(LogLevel::kWarning, "no trace: {}", trace.status().to_string());
  return nullptr;
}

// The runs of one use, in order; as many as most launches have take no memory. A run that is named
// several times in a row is there once.
class FoundRuns {
 public:
  void add(Run* run) {
    if (run == last_) return;
    last_ = run;
    if (count_ < few_.size()) {
      few_[count_] = run;
    } else {
      if (count_ == few_.size()) many_.assign(few_.begin(), few_.end());
      many_.push_back(run);
    }
    ++count_;
  }
  std::span<Run* const> all() const {
    return count_ <= few_.size() ? std::span(few_.data(), count_) : std::span(many_);
  }

 private:
  std::array<Run*, 64> few_;  // the first count_ are set
  std::vector<Run*> many_;    // all of them, once there are more
  std::size_t count_ = 0;
  Run* last_ = nullptr;
};

Status not_ours(Address address) {
  return Status(Code::kNotFound, fmt::format("{:#x} is in no live block", address.value()));
}

}  // namespace

Result<std::unique_ptr<Allocator>> Allocator::create(std::unique_ptr<Driver> driver,
                                                     const Options& options, const Clock& clock) {
  TESSERA_TRY(options.validate());
  set_log_level(options.level());
  std::unique_ptr<FileTier> file;
  TESSERA_TRY_ASSIGN(file, open_file_tier(options));
  constexpr bool kPump = true;
  return create({clock, std::move(driver), std::move(file), system_host_pages(), kPump,
                 attached_profiler()},
                options);
}

// The whole machine, bottom up: driver, tiers, then for each device in use tier, residency, pages,
// blocks (device_heap.cpp), and the pump that keeps it moving.
Result<std::unique_ptr<Allocator>> Allocator::create(Foundations foundations,
                                                     const Options& options) {
  TESSERA_TRY(options.validate());
  set_log_level(options.level());
  const Clock& clock = foundations.clock;
  HostPages& pages = foundations.host_pages;
  const bool pump = foundations.pump;
  std::unique_ptr<Allocator> a(new Allocator(std::move(foundations), options));
  const Bytes host = host_budget(options);
  const Bytes staging = HostTier::staging_for(host, a->file_->usage().capacity);
  a->host_pages_ = std::make_unique<RegisteredPages>(pages, *a->file_);
  a->host_ = std::make_unique<HostTier>(*a->driver_, host, staging, *a->host_pages_);
  std::vector<Loan> loans;
  TESSERA_TRY_ASSIGN(loans, peer_loans(options));
  a->open_peers(std::move(loans));
  a->trace_ = open_trace(options, clock);
  if (a->trace_) a->op_times_ = std::make_unique<OpTimes>(*a->driver_, *a->trace_);
  Allocator* self = a.get();
  std::function<void()> look;
  if (pump && !options.control_dir.empty()) a->board_ = LiveBoard::open_if_possible();
  if (a->board_) look = [self] { self->show(); };
  // What is under way goes first: growing takes milliseconds.
  const auto work = [self] {
    const bool busy = self->advance();
    return self->host_->grow_ahead() || busy;
  };
  if (pump) a->pump_ = std::make_unique<Pump>(work, look);
  return a;
}

Allocator::Allocator(Foundations foundations, const Options& options)
    : driver_(std::move(foundations.driver)),
      options_(options),
      log_(foundations.clock, foundations.events, !options.history.empty(), foundations.profiler),
      began_(log_.now()),
      exposures_(options.explain),
      file_(std::move(foundations.file)),
      policies_{{Nanoseconds(), options.policy}} {}

Allocator::~Allocator() = default;

// ---- devices ------------------------------------------------------------------------------------

Result<DeviceHeap*> Allocator::heap(DeviceId device) {
  if (device.value() >= kMaxDevices) {
    return Status(Code::kInvalidArgument, fmt::format("there is no device {}", device.value()));
  }
  auto& entry = heaps_[device.value()];
  if (DeviceHeap* known = entry.load(std::memory_order_acquire)) return known;
  static_assert(kMaxDevices * PageMover::kMostInFile <= FileIo::kMaxTransfers);
  MutexLock lock(mutex_);
  if (DeviceHeap* known = entry.load()) return known;
  BackingTier* backing = nullptr;
  TESSERA_TRY_ASSIGN(backing, backing_for(device));
  Options options = options_;
  options.policy = policies_.back().name;
  std::unique_ptr<DeviceHeap> made;
  TESSERA_TRY_ASSIGN(made, DeviceHeap::create(*driver_, device,
                                              {*host_, *file_, backing, peer_for(device), to_lend(device)}, log_, options,
                                              pump_ ? Rehearsal::Answer::kWhenReady
                                                    : Rehearsal::Answer::kWaits,
                                              [this](TagId tag) { return tags_.class_of(tag); }));
  const std::uint64_t low = made->pages().low().value(), high = made->pages().high().value();
  if (high_.load() == 0 || low < low_.load()) low_.store(low);
  if (high > high_.load()) high_.store(high);
  TESSERA_TRY(made->residency().set_automatic(automatic_));
  owned_.push_back(std::move(made));
  entry.store(owned_.back().get(), std::memory_order_release);
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

template <class Act>
Status Allocator::with_run(Address address, Act act) {
  if (DeviceHeap* heap = heap_of(address)) {
    const BlockCache::Lookup lookup(heap->blocks());
    if (Run* run = lookup.run_of(address)) return act(*heap, run);
  }
  return not_ours(address);
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
  if (pump_ && (heap.residency().has_work() || host_->has_wish())) pump_->kick();
}

// ---- blocks -------------------------------------------------------------------------------------

Result<Address> Allocator::allocate(DeviceId device, Bytes bytes, StreamId stream) {
  DeviceHeap* heap = nullptr;
  TESSERA_TRY_ASSIGN(heap, this->heap(device));
  const TagId tag = TagStack::current();
  Result<Address> block = heap->blocks().allocate(bytes, stream, tag);
  kick_pump(*heap);
  if (!block.is_ok()) return explain(block.status(), *heap, bytes);
  if (trace_) trace_->alloc(block.value().value(), bytes, stream, tags_.name_of(tag), device);
  return block;
}

Status Allocator::free(Address address, StreamId stream) {
  DeviceHeap* heap = heap_of(address);
  if (heap == nullptr) return not_ours(address);
  if (trace_) {
    // Before another thread can allocate the same address, and tell of that.
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
  return result;
}

// ---- uses ---------------------------------------------------------------------------------------

// The common case: queued work, all of its blocks on one device and in its memory. Takes no lock and
// looks each address up once. False: nothing has happened.
bool Allocator::try_use(std::span<const Address> addresses, StreamId stream, Access access,
                        AnnouncedUse& use) {
  const auto first = std::find_if(addresses.begin(), addresses.end(),
                                  [this](Address address) { return manages(address); });
  if (first == addresses.end()) return !guards_all_work();
  DeviceHeap* const heap = heap_of(*first);
  if (heap == nullptr) return false;
  FoundRuns found;
  const auto find = [&, low = heap->pages().low(), high = heap->pages().high(),
                     &pages = heap->pages().map(),
                     end = addresses.end()]() -> std::optional<std::span<Run* const>> {
    for (auto address = first; address != end; ++address) {
      if (*address >= low && *address < high) {
        if (Run* const run = BlockCache::live_run_of(pages, *address)) found.add(run);
      } else if (manages(*address)) {
        return std::nullopt;  // of another device
      }
    }
    if (found.all().empty()) return std::nullopt;
    return found.all();
  };
  if (!heap->residency().try_use(find, stream, access, use.use)) return false;
  use.heap = heap;
  use.stream = stream;
  kick_pump(*heap);
  return true;
}

// Nothing here lives as long as its thread: programs use their blocks from exit handlers, when that is gone.
Status Allocator::begin_use(std::span<const Address> addresses, StreamId stream, Access access,
                            Use::Kind kind, const char* name, AnnouncedUse& use) {
  use.use.work = name;
  if (kind == Use::Kind::kGate && !trace_ && try_use(addresses, stream, access, use)) return {};
  FoundRuns runs;
  use.stream = stream;
  DeviceHeap* heap = nullptr;
  std::optional<BlockCache::Lookup> lookup;
  for (Address address : addresses) {
    DeviceHeap* home = heap_of(address);
    if (home == nullptr) continue;
    if (heap == nullptr) {
      heap = home;
      lookup.emplace(heap->blocks());
    } else if (home != heap) {
      lookup.reset();
      return begin_on_several(addresses, access, use);
    }
    if (Run* run = lookup->run_of(address)) runs.add(run);
  }
  const std::span<Run* const> found = runs.all();
  if (found.empty()) {
    if (kind == Use::Kind::kGate && guards_all_work()) enter_gates(use);
    return {};
  }
  std::optional<TraceWriter::OpKind> op;
  if (trace_ && !is_inside_callback()) op = trace_op(addresses, stream, access, name != nullptr ? name : "");
  const Held held = [&lookup] { lookup.reset(); };  // a callback may take long
  if (kind == Use::Kind::kHold) {
    return begin_held({{heap, {found.begin(), found.end()}}}, access, use, held);
  }
  Status status = heap->residency().begin_use(found, stream, access, kind, use.use, held);
  kick_pump(*heap);
  if (!status.is_ok()) return explain_use(std::move(status), *heap, found);
  use.heap = heap;
  if (op) op_times_->begin(*op, stream);
  return {};
}

Status Allocator::begin_use(std::span<const Address> addresses, std::size_t written,
                            StreamId stream, const char* name, AnnouncedUse& use) {
  const bool all = written == addresses.size();
  TESSERA_TRY(begin_use(addresses, stream, all ? Access::kWrite : Access::kRead, Use::Kind::kGate,
                        name, use));
  if (all) return {};
  for (Address address : addresses.last(written)) {
    DeviceHeap* const heap = heap_of(address);
    Run* const run = heap == nullptr ? nullptr : BlockCache::live_run_of(heap->pages().map(), address);
    if (run != nullptr) heap->residency().note_written(*run);
  }
  return {};
}

Status Allocator::begin_on_several(std::span<const Address> addresses, Access access,
                                   AnnouncedUse& use) {
  std::vector<AnnouncedUse::Part> parts;
  std::deque<BlockCache::Lookup> lookups;  // open until the runs are held
  for (const auto& entry : heaps_) {
    DeviceHeap* heap = entry.load(std::memory_order_acquire);
    if (heap == nullptr) continue;
    const auto& lookup = lookups.emplace_back(heap->blocks());
    AnnouncedUse::Part part{heap, {}};
    for (Address address : addresses) {
      if (!heap->holds(address)) continue;
      if (Run* run = lookup.run_of(address)) part.runs.push_back(run);
    }
    if (!part.runs.empty()) parts.push_back(std::move(part));
  }
  return begin_held(std::move(parts), access, use, {});
}

Status Allocator::begin_held(std::vector<AnnouncedUse::Part> parts, Access access,
                             AnnouncedUse& use, const Held& held) {
  for (auto& part : parts) {
    Status status = part.heap->residency().begin_use(part.runs, use.stream, access,
                                                     Use::Kind::kHold, use.use, held);
    kick_pump(*part.heap);
    if (!status.is_ok()) {
      end_use(use);
      return explain_use(std::move(status), *part.heap, part.runs);
    }
    use.held.push_back(std::move(part));
  }
  return {};
}

void Allocator::end_use(AnnouncedUse& use) {
  if (use.heap != nullptr && op_times_) op_times_->end(use.stream);
  if (use.heap != nullptr) use.heap->residency().end_use({}, use.stream, use.use);
  for (auto& part : use.held) part.heap->residency().end_use(part.runs, use.stream, use.use);
  if (use.gates != 0) leave_gates(use);
  use.heap = nullptr;
  use.held.clear();
}

Status Allocator::explain_use(Status status, DeviceHeap& heap, std::span<Run* const> runs) const {
  Bytes asked;
  for (const Run* run : std::set<const Run*>(runs.begin(), runs.end())) asked += run->shape.bytes();
  return explain(std::move(status), heap, asked);
}

// The common case of touch(), as try_use() is that of begin_use().
bool Allocator::try_touch(DeviceHeap& heap, Address address, StreamId stream, Access access) {
  Use use;
  use.work = "touch";
  Run* run = nullptr;
  const auto find = [&run, address, &pages = heap.pages().map()]() -> std::optional<std::span<Run* const>> {
    run = BlockCache::block_run_of(pages, address);
    if (run == nullptr) return std::nullopt;
    return std::span<Run* const>(&run, 1);
  };
  if (!heap.residency().try_use(find, stream, access, use)) return false;
  heap.residency().end_use({}, stream, use);
  kick_pump(heap);
  return true;
}

Status Allocator::touch(Address address, StreamId stream, Access access) {
  DeviceHeap* const heap = heap_of(address);
  if (heap != nullptr && !trace_ && try_touch(*heap, address, stream, access)) return {};
  return touch_absent(address, stream, access);
}

Status Allocator::touch_absent(Address address, StreamId stream, Access access) {
  // A use asks for whole runs and ignores what is no block; here that is an error.
  TESSERA_TRY(with_run(address, [](DeviceHeap&, Run*) { return Status(); }));
  AnnouncedUse use;
  TESSERA_TRY(begin_use({&address, 1}, stream, access, Use::Kind::kGate, "touch", use));
  const bool found = use.heap != nullptr;
  end_use(use);
  return found ? Status() : not_ours(address);
}

// ---- hints --------------------------------------------------------------------------------------

Status Allocator::prefetch(std::span<const Address> addresses) {
  for (Address address : addresses) {
    TESSERA_TRY(with_run(address, [this](DeviceHeap& heap, Run* run) {
      Status status = heap.residency().prefetch({&run, 1});
      kick_pump(heap);
      return status;
    }));
  }
  return {};
}

Status Allocator::evict(std::span<const Address> addresses) {
  for (Address address : addresses) TESSERA_TRY(with_run(address, [](DeviceHeap&, Run*) { return Status(); }));
  for (const auto& entry : heaps_) {
    DeviceHeap* const heap = entry.load(std::memory_order_acquire);
    if (heap == nullptr) continue;
    const BlockCache::Lookup lookup(heap->blocks());
    std::vector<Run*> runs;
    for (Address address : addresses) {
      Run* const run = heap->holds(address) ? lookup.run_of(address) : nullptr;
      if (run != nullptr) runs.push_back(run);  // else another device's, or freed meanwhile
    }
    if (runs.empty()) continue;
    const Status status = heap->residency().evict(runs);
    kick_pump(*heap);
    TESSERA_TRY(status);
  }
  return {};
}

Status Allocator::pin(Address address) { return pin(address, nullptr); }

Status Allocator::pin(Address address, const char* exposed_by) {
  DeviceHeap* const heap = heap_of(address);
  if (heap == nullptr) return not_ours(address);
  std::optional<BlockCache::Lookup> lookup(heap->blocks());
  Run* const run = lookup->run_of(address);
  if (run == nullptr) return not_ours(address);
  return heap->residency().pin(run, exposed_by, [&lookup] { lookup.reset(); });
}

Status Allocator::unpin(Address address) {
  return with_run(address, [](DeviceHeap& heap, Run* run) { return heap.residency().unpin(run); });
}

Status Allocator::expose(Address address, const char* reason) {
  TESSERA_TRY(pin(address, reason));
  exposures_.note(reason);
  return {};
}

Status Allocator::set_remake(Address address, Remaker remaker, Nanoseconds cost) {
  DeviceHeap* const heap = heap_of(address);
  if (heap == nullptr) return not_ours(address);
  const BlockCache::Lookup lookup(heap->blocks());
  const auto block = lookup.block_of(address);
  if (!block) return not_ours(address);
  Remake remake{{}, remaker ? std::max(cost, Nanoseconds(1)) : Nanoseconds()};
  const Nanoseconds recorded = remake.cost;
  if (remaker) {
    remake.work = [remaker = std::move(remaker), at = block->address, bytes = block->bytes](StreamId on) {
      return remaker(at, bytes, on);
    };
  }
  TESSERA_TRY(heap->residency().set_remake(block->run, std::move(remake)));
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
