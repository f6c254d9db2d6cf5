#include "tier/peer_tier.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "base/log.hpp"
#include "base/size_text.hpp"
#include "tier/peer_link.hpp"

namespace tessera {
namespace {

Bytes sum_of(const std::vector<Loan>& loans) {
  return std::accumulate(loans.begin(), loans.end(), Bytes(),
                         [](Bytes sum, const Loan& loan) { return sum + loan.bytes; });
}

}  // namespace

PeerTier::PeerTier(Driver& driver, std::vector<Loan> loans) : AliasTier(Location::kPeer, driver, sum_of(loans), {}) {
  for (const Loan& loan : loans) lenders_.push_back({loan, {}});
}

PeerTier::~PeerTier() { destroy_all(); }

bool PeerTier::lends(DeviceId device) const {
  const MutexLock lock(lenders_mutex_);
  return std::ranges::any_of(lenders_, [&](const Lender& each) { return each.loan.lender == device; });
}

std::size_t PeerTier::lender_count() const {
  const MutexLock lock(lenders_mutex_);
  return lenders_.size();
}

std::size_t PeerTier::lender_of(const Frame& frame) const {
  const FrameId handle = handle_of(frame);
  const MutexLock lock(lenders_mutex_);
  return lender_of_.at(handle);
}

// The tier's own lock is taken before that of the lenders.
void PeerTier::settle(DeviceId device) {
  Bytes less;
  {
    const MutexLock lock(lenders_mutex_);
    const auto lender = std::ranges::find(lenders_, device, [](const Lender& each) { return each.loan.lender; });
    if (lender == lenders_.end() || lender->settled) return;
    const Result<MemoryInfo> memory = driver_.memory_info(device);
    if (!memory.is_ok()) return;
    lender->settled = true;
    const Bytes most = lender->taken + memory.value().free / kBasePage * kBasePage;
    if (lender->loan.bytes <= most) return;
    log_line(LogLevel::kWarning, "peer-memory {}:{} exceeds the device's free memory: it lends {}", device.value(),
             rounded_size(lender->loan.bytes), rounded_size(most));
    less = lender->loan.bytes - most;
    lender->loan.bytes = most;
  }
  lower_capacity(less);
}

Status PeerTier::try_admit(DeviceId device) {
  for (const Lender& lender : lenders()) settle(lender.loan.lender);
  bool any = false;
  for (const Lender& lender : lenders()) {
    if (lender.loan.bytes < kBasePage) continue;
    TESSERA_TRY(try_lender(lender, device));
    any = true;
  }
  return any ? admit(device) : Status(Code::kOutOfMemory, "the lending devices have no memory to lend");
}

// If there is no memory left for the test, access to the existing frames is sufficient.
Status PeerTier::try_lender(const Lender& lender, DeviceId borrower) {
  const Status tried = try_peer_link(driver_, borrower, lender.loan.lender);
  if (tried.is_ok() || (tried.code() == Code::kOutOfMemory && lender.taken)) return {};
  return Status(tried.code(),
                fmt::format("it cannot access memory of device {}: {}", lender.loan.lender.value(), tried.message()),
                tried.native_code());
}

std::vector<PeerTier::Lender> PeerTier::lenders() const {
  const MutexLock lock(lenders_mutex_);
  return lenders_;
}

Bytes PeerTier::to_come_from(DeviceId device) const {
  const MutexLock lock(lenders_mutex_);
  const auto found = std::ranges::find(lenders_, device, [](const Lender& each) { return each.loan.lender; });
  return found == lenders_.end() ? Bytes() : found->left();
}

Bytes PeerTier::reach() const {
  const MutexLock lock(lenders_mutex_);
  return std::accumulate(lenders_.begin(), lenders_.end(), Bytes(), [](Bytes sum, const Lender& each) {
    const bool no_page = each.refused && each.refused <= kBasePage;
    return sum + (no_page ? each.taken : each.loan.bytes);
  });
}

// Another allocator may have returned memory to a lender meanwhile.
void PeerTier::trim() {
  AliasTier::trim();
  const MutexLock lock(lenders_mutex_);
  for (Lender& lender : lenders_) lender.refused = {};
}

Result<AliasTier::Made> PeerTier::create_frame(Bytes bytes) {
  const MutexLock lock(lenders_mutex_);
  std::vector<std::pair<Bytes, std::size_t>> by_taken;
  for (std::size_t i = 0; i < lenders_.size(); ++i) by_taken.emplace_back(lenders_[i].taken, i);
  std::ranges::sort(by_taken);
  Status refusal(Code::kOutOfMemory, "no device lends that much at once");
  for (const auto& [taken, i] : by_taken) {
    if (lenders_[i].left() < bytes) continue;
    Lender& from = lenders_[i];
    if (from.refused && bytes >= from.refused) continue;
    const DeviceId lender = from.loan.lender;
    const Result<FrameId> frame = driver_.create_frame(lender, FrameLocation::kDevice, bytes);
    refusal = frame.status();
    if (refusal.code() == Code::kOutOfMemory) note_refused(from, bytes);
    if (!frame.is_ok()) continue;
    from.taken += bytes;
    lender_of_[frame.value()] = i;
    return Made{frame.value(), lender};
  }
  return refusal;
}

void PeerTier::note_refused(Lender& lender, Bytes bytes) {
  lender.refused = bytes;
  if (std::exchange(lender.said, true)) return;
  log_line(LogLevel::kWarning, "device {} has no more memory to lend: {} was requested, {} is lent",
           lender.loan.lender.value(), rounded_size(lender.loan.bytes), rounded_size(lender.taken));
}

Status PeerTier::destroy_frame(FrameId frame, Bytes bytes) {
  const MutexLock lock(lenders_mutex_);
  TESSERA_TRY(driver_.destroy_frame(frame));
  const auto found = lender_of_.find(frame);
  lenders_[found->second].taken -= bytes;
  lenders_[found->second].refused = {};
  lender_of_.erase(found);
  return {};
}

}  // namespace tessera
