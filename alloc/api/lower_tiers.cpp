// What is below a device: host-backed pages, the gates of work that names no block, and memory lent by peers.
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "api/allocator.hpp"
#include "api/budgets.hpp"
#include "base/log.hpp"

namespace tessera {

// The option decides, then the observed capability of the machine (DeviceProperties::host_frames).
Result<BackingTier*> Allocator::backing_for(DeviceId device) {
  if (options_.unhinted_access == "off") return nullptr;
  TESSERA_TRY_ASSIGN(const DeviceProperties properties, driver_->properties(device));
  const Bytes capacity = host_->usage().capacity;
  std::string reason;
  if (!properties.host_frames) {
    reason = fmt::format("host memory cannot be mapped at device addresses of {}{}{}", properties.name,
                         properties.host_frames_problem.empty() ? "" : ": ", properties.host_frames_problem);
  } else if (file_->usage().capacity != Bytes()) {
    reason = "a spill file cannot be mapped at a device address";
  } else if (peer_ != nullptr) {
    reason = "it cannot be combined with peer-memory";
  } else if (capacity < 2 * kBasePage) {
    reason = "there is no host memory to map";
  }
  if (!reason.empty() && options_.unhinted_access == "host-backed") {
    return Status(Code::kNotSupported, fmt::format("unhinted-access host-backed: {}", reason));
  }
  if (!reason.empty()) {
    log_line(LogLevel::kInfo, "unhinted-access off: {}", reason);
    if (backing_ == nullptr) unhinted_ = fmt::format("off: {}", reason);
    return nullptr;
  }
  if (backing_ == nullptr) {
    backing_ = std::make_unique<BackingTier>(*driver_, device, capacity);
    if (pump_) backing_->grow_in_background();
  } else {
    TESSERA_TRY(backing_->admit(device));
  }
  unhinted_ = "host-backed";
  return backing_.get();
}

// Which device lends, and whether another can borrow, depends on how many devices this process sees.
void Allocator::open_peers(std::vector<Loan> loans) {
  loans = loans_between(std::move(loans), driver_->device_count());
  if (!loans.empty()) peer_ = std::make_unique<PeerTier>(*driver_, std::move(loans));
}

// Loans come from the device's own memory. Its heap gets the rest, so they are made first.
Bytes Allocator::to_lend(DeviceId device) {
  if (peer_ == nullptr) return {};
  peer_->settle(device);
  return peer_->to_come_from(device);
}

// A device that cannot access the lenders does not borrow.
PeerTier* Allocator::peer_for(DeviceId device) const {
  if (peer_ == nullptr || peer_->lends(device)) return nullptr;
  const Status admitted = peer_->try_admit(device);
  if (admitted.is_ok()) return peer_.get();
  log_line(LogLevel::kWarning, "device {} does not use peer memory: {}", device.value(), admitted.to_string());
  return nullptr;
}

void Allocator::expect_unseen_work_from_now_on() {
  MutexLock lock(mutex_);
  unseen_.store(true);
  for (const auto& heap : owned_) heap->residency().expect_unseen_work();
}

void Allocator::expect_waiting(const char* name) {
  MutexLock lock(mutex_);
  if (waiting_.size() == WaitingKernels::kMostKnown) return;
  waiting_.push_back(name);
  for (const auto& heap : owned_) heap->residency().expect_waiting(name);
}

// Host-backed pages of every device are guarded: work of one device can access those of another, and each swap waits
// for all work. Otherwise a block waits only for work on its own device.
void Allocator::begin_unnamed(std::optional<DeviceId> device, StreamId stream, const char* name, AnnouncedUse& use) {
  use.stream = stream;
  if (guards_all_work()) {
    enter_gates(use);
    return;
  }
  for (std::size_t i = 0; i < heaps_.size(); ++i) {
    DeviceHeap* const heap = heaps_[i].load(std::memory_order_acquire);
    if (heap == nullptr || (device && device->value() != i)) continue;
    const bool is_alone = device.has_value() || only_heap_.load(std::memory_order_relaxed) == heap;
    use.use.gate_slot = heap->residency().begin_unnamed(stream, name, is_alone ? &use.use.watch : nullptr);
    use.gates |= std::uint64_t{1} << i;
  }
}

// A thread has the same slot at every gate. With several devices the owner of the stream is unknown.
void Allocator::enter_gates(AnnouncedUse& use) {
  const std::uint64_t backed = backed_devices_.load(std::memory_order_acquire);
  if (!std::has_single_bit(backed)) use.stream = kNoStream;
  for (std::size_t device = 0; device < heaps_.size(); ++device) {
    if ((backed >> device & 1) == 0) continue;
    use.use.gate_slot = heaps_[device].load()->residency().begin_unnamed(use.stream);
  }
  use.gates = backed;
}

void Allocator::leave_gates(AnnouncedUse& use) {
  for (std::size_t device = 0; device < heaps_.size(); ++device) {
    if ((use.gates >> device & 1) == 0) continue;
    heaps_[device].load()->residency().end_unnamed(use.stream, use.use.gate_slot, use.use.watch);
  }
  use.gates = 0;
}

// There is one budget for host memory, whichever tier uses it.
TierUsage Allocator::host_usage() const { return guards_all_work() ? backing_->usage() : host_->usage(); }

}  // namespace tessera
