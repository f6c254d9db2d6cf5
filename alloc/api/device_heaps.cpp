#include "api/device_heaps.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "api/run_summary.hpp"
#include "base/log.hpp"

namespace tessera {

Status not_ours(Address address) {
  return Status(Code::kNotFound, fmt::format("{:#x} is not inside a live block", address.value()));
}

DeviceHeaps::DeviceHeaps(Driver& driver, LowerTiers& lower, EventLog& log, const TagTable& tags, const Options& options,
                         bool pump, LedgerAccess* ledgers)
    : driver_(driver),
      lower_(lower),
      log_(log),
      tags_(tags),
      options_(options),
      pumps_(pump),
      ledgers_(ledgers),
      began_(log.now()),
      policies_{{Nanoseconds(), options.policy}} {}

// ---- finding ------------------------------------------------------------------------------------

Result<DeviceHeap*> DeviceHeaps::heap(DeviceId device) {
  if (device.value() >= kMaxDevices) {
    return Status(Code::kInvalidArgument, fmt::format("no such device: {}", device.value()));
  }
  auto& entry = heaps_[device.value()];
  if (DeviceHeap* known = entry.load(std::memory_order_acquire)) return known;
  static_assert(kMaxDevices * PageFiles::kMostInFile <= FileIo::kMaxTransfers);
  MutexLock lock(mutex_);
  if (DeviceHeap* known = entry.load()) return known;
  TESSERA_TRY_ASSIGN(BackingTier* const backing, lower_.choose_backing(device));
  TESSERA_TRY_ASSIGN(const LowerTiers::ZeroCopy zero_copy, lower_.zero_copy_for(device));
  note_unhinted(backing != nullptr, zero_copy);
  Options options = options_;
  options.policy = policies_.back().name;
  std::unique_ptr<DeviceHeap> made;
  TESSERA_TRY_ASSIGN(
      made,
      DeviceHeap::create(driver_, device,
                         {lower_.host(), lower_.file(), backing, lower_.peer_for(device), zero_copy.tier,
                          lower_.to_lend(device), ledgers_},
                         log_, options, pumps_ ? PlanSimulator::Answer::kWhenReady : PlanSimulator::Answer::kWaits,
                         [this](TagId tag) { return tags_.class_of(tag); }));
  const std::uint64_t low = made->pages().low().value(), high = made->pages().high().value();
  if (high_.load() == 0 || low < low_.load()) low_.store(low);
  if (high > high_.load()) high_.store(high);
  TESSERA_TRY(made->residency().automatic().set(automatic_));
  if (unseen_.load()) made->residency().expect_unseen_work();
  for (const char* name : waiting_) made->residency().expect_waiting(name);
  lower_.note_staging();
  owned_.push_back(std::move(made));
  entry.store(owned_.back().get(), std::memory_order_release);
  only_.store(owned_.size() == 1 ? owned_.back().get() : nullptr, std::memory_order_release);
  if (backing != nullptr) lower_.note_backed(device);
  const HeapBudgets budgets{owned_.back()->tier().usage().capacity, lower_.host_usage().capacity,
                            lower_.file().usage().capacity};
  if (const std::string line = RunSummary(options_).line_at_begin(device, budgets); !line.empty()) {
    log_line(LogLevel::kWarning, "{}", line);
  }
  return owned_.back().get();
}

// One device that has it is enough.
void DeviceHeaps::note_unhinted(bool backed, const LowerTiers::ZeroCopy& zero_copy) {
  if (options_.unhinted_access == "off") return;
  if (backed || zero_copy.tier != nullptr) {
    unhinted_ = backed ? "host-backed" : "by block";
  } else if (unhinted_ == "off") {
    unhinted_ = fmt::format("off: {}", zero_copy.reason);
    log_line(LogLevel::kInfo, "unhinted-access {}", unhinted_);
  }
}

DeviceHeap* DeviceHeaps::of(Address address) const {
  if (address.value() < low_.load(std::memory_order_relaxed)) return nullptr;
  if (address.value() >= high_.load(std::memory_order_relaxed)) return nullptr;
  for (const auto& entry : heaps_) {
    DeviceHeap* heap = entry.load(std::memory_order_acquire);
    if (heap != nullptr && heap->holds(address)) return heap;
  }
  return nullptr;
}

DeviceHeaps::List DeviceHeaps::all() const {
  List list;
  for (const auto& entry : heaps_) {
    DeviceHeap* const heap = entry.load(std::memory_order_acquire);
    if (heap != nullptr) list.heaps_[list.count_++] = heap;
  }
  return list;
}

// The heap itself ends with the table: the pump may be looking at it.
void DeviceHeaps::end(DeviceId device) {
  if (device.value() >= kMaxDevices) return;
  DeviceHeap* const heap = heaps_[device.value()].exchange(nullptr);
  if (heap == nullptr) return;
  heap->blocks().release_all();
  heap->residency().trim();
  if (heap->share() != nullptr) heap->share()->leave();
}

// ---- what holds for all devices -----------------------------------------------------------------

Status DeviceHeaps::set_automatic(bool on) {
  const MutexLock lock(mutex_);
  for (const auto& heap : owned_) TESSERA_TRY(heap->residency().automatic().set(on));
  automatic_ = on;
  return {};
}

// The previous policies are destroyed outside of the locks, since a running simulation may take a while to cancel.
Status DeviceHeaps::set_policy(std::string_view name) {
  TESSERA_TRY(make_policy(name).status());
  std::vector<Guide> before;
  const MutexLock lock(mutex_);
  for (const auto& heap : owned_) {
    std::unique_ptr<Policy> policy;
    TESSERA_TRY_ASSIGN(policy, make_policy(name));
    before.push_back(heap->residency().set_policy(std::move(policy)));
  }
  if (policies_.size() == kMostTurns) policies_.erase(policies_.begin());
  policies_.push_back({log_.now() - began_, std::string(name)});
  return {};
}

void DeviceHeaps::expect_waiting(const char* name) {
  const MutexLock lock(mutex_);
  if (waiting_.size() == WaitingKernels::kMostKnown) return;
  waiting_.push_back(name);
  for (const auto& heap : owned_) heap->residency().expect_waiting(name);
}

void DeviceHeaps::expect_unseen_work_from_now_on() {
  const MutexLock lock(mutex_);
  unseen_.store(true);
  for (const auto& heap : owned_) heap->residency().expect_unseen_work();
}

std::vector<PolicyTurn> DeviceHeaps::policies() const {
  const MutexLock lock(mutex_);
  return policies_;
}

std::string DeviceHeaps::policy() const {
  const MutexLock lock(mutex_);
  return policies_.back().name;
}

std::string DeviceHeaps::unhinted_access() const {
  const MutexLock lock(mutex_);
  return unhinted_;
}

// ---- moves --------------------------------------------------------------------------------------

bool DeviceHeaps::advance() {
  bool busy = false;
  for (DeviceHeap* const heap : all()) {
    if (!heap->residency().has_work()) continue;
    heap->residency().advance();
    busy = busy || heap->residency().has_work();
  }
  return busy;
}

std::chrono::milliseconds DeviceHeaps::look_at_shares() {
  std::chrono::milliseconds next = Pump::kBetweenLooks;
  for (DeviceHeap* const heap : all()) {
    if (heap->share() != nullptr) next = std::min(next, heap->share()->look());
  }
  return next;
}

Status DeviceHeaps::cover(std::span<const Address> addresses) {
  for (DeviceHeap* const heap : all()) heap->residency().placeholders().begin();
  Status result;
  for (auto address = addresses.begin(); address != addresses.end() && result.is_ok(); ++address) {
    const auto cover_one = [&] {
      return with_run(*address,
                      [](DeviceHeap& heap, Run* run) { return heap.residency().placeholders().cover(&run->whole()); });
    };
    result = cover_one();
    if (result.code() == Code::kNotFound) result = {};
    if (result.code() != Code::kOutOfMemory) continue;
    result = of(*address)->residency().placeholders().make_room();
    if (result.is_ok()) result = cover_one();
  }
  if (!result.is_ok()) uncover();
  return result;
}

void DeviceHeaps::uncover() {
  for (DeviceHeap* const heap : all()) heap->residency().placeholders().end();
}

void DeviceHeaps::start_pump(Pump::Look look) {
  if (pumps_) pump_ = std::make_unique<Pump>([this] { return advance(); }, std::move(look));
}

Status DeviceHeaps::validate() const {
  for (DeviceHeap* const heap : all()) TESSERA_TRY(heap->validate());
  return {};
}

}  // namespace tessera
