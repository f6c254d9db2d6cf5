#include "tier/peer_tier.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "tier/peer_link.hpp"

namespace tessera {
namespace {

Bytes sum_of(const std::vector<Loan>& loans) {
  return std::accumulate(loans.begin(), loans.end(), Bytes(),
                         [](Bytes sum, const Loan& loan) { return sum + loan.bytes; });
}

}  // namespace

PeerTier::PeerTier(Driver& driver, std::vector<Loan> loans)
    : AliasTier(TierKind::kPeer, driver, sum_of(loans), {}) {
  for (const Loan& loan : loans) lenders_.push_back({loan, {}});
}

PeerTier::~PeerTier() { destroy_all(); }

bool PeerTier::lends(DeviceId device) const {
  const MutexLock lock(lenders_mutex_);
  return std::ranges::any_of(lenders_, [&](const Lender& each) { return each.loan.lender == device; });
}

Status PeerTier::try_admit(DeviceId device) {
  for (const Lender& lender : lenders()) TESSERA_TRY(try_lender(lender, device));
  return admit(device);
}

// Where there is no memory left to try with, access to the frames there are has to do.
Status PeerTier::try_lender(const Lender& lender, DeviceId borrower) {
  const Status tried = try_peer_link(driver_, borrower, lender.loan.lender);
  if (tried.is_ok() || (tried.code() == Code::kOutOfMemory && lender.taken)) return {};
  return Status(tried.code(), fmt::format("it does not reach what device {} lends: {}", lender.loan.lender.value(),
                                          tried.message()), tried.native_code());
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

Result<AliasTier::Made> PeerTier::create_frame(Bytes bytes) {
  const MutexLock lock(lenders_mutex_);
  std::vector<std::pair<Bytes, std::size_t>> by_left;
  for (std::size_t i = 0; i < lenders_.size(); ++i) by_left.emplace_back(lenders_[i].left(), i);
  std::ranges::stable_sort(by_left, std::greater<>(), &std::pair<Bytes, std::size_t>::first);
  Status refusal(Code::kOutOfMemory, "no device lends so much at once");
  for (const auto& [left, i] : by_left) {
    if (left < bytes) break;
    const DeviceId lender = lenders_[i].loan.lender;
    const Result<FrameId> frame = driver_.create_frame(lender, FrameLocation::kDevice, bytes);
    refusal = frame.status();
    if (!frame.is_ok()) continue;  // it may have less than it was to lend
    lenders_[i].taken += bytes;
    lender_of_[frame.value()] = i;
    return Made{frame.value(), lender};
  }
  return refusal;
}

Status PeerTier::destroy_frame(FrameId frame, Bytes bytes) {
  const MutexLock lock(lenders_mutex_);
  TESSERA_TRY(driver_.destroy_frame(frame));
  const auto found = lender_of_.find(frame);
  lenders_[found->second].taken -= bytes;
  lender_of_.erase(found);
  return {};
}

}  // namespace tessera
