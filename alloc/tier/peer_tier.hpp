// Memory lent by other devices: nearer than host memory where devices have links of their own.
//
// A frame is memory of a lender, which does not use it; the borrowers copy through its alias. Any lender may provide a
// frame, and the one that has lent least is asked first: the pages of a run lie with all of them in turn, as MPress
// (HPCA 2023) stripes them, and cross as many links at a time. Memory is allocated on a lender when it is first needed,
// and then kept as spare frames. A lender that had less than its loan is not asked again for that size before some of
// it was returned.
//
// Thread safety: as in tier.hpp.
#pragma once

#include <unordered_map>
#include <vector>

#include "tier/alias_tier.hpp"

namespace tessera {

struct Loan {
  DeviceId lender;
  Bytes bytes;
};

class PeerTier final : public AliasTier {
 public:
  // Its capacity is the sum of the loans. REQUIRES: each lender is named once.
  PeerTier(Driver& driver, std::vector<Loan> loans);
  // Destroys all spare frames. REQUIRES: as destroy_all.
  ~PeerTier() override;

  bool lends(DeviceId device) const;
  std::size_t lender_count() const;
  // The number of the lender whose memory it is, below lender_count(). REQUIRES: the frame is out.
  std::size_t lender_of(const Frame& frame) const;
  // Compares a loan with the lender's free memory, and lowers it to that, with a log line. Once for each lender, before
  // its own heap or a borrower takes anything. No effect for other devices.
  void settle(DeviceId device);
  // Admits the device if it can access the memory of each lender (peer_link.hpp): any of them may provide the next
  // frame. Errors: the driver's, with the lender named.
  Status try_admit(DeviceId device);
  // What may still be allocated on a lender; 0 for other devices.
  Bytes to_come_from(DeviceId device) const;
  // Its capacity; for lenders without more to lend, only what they have lent.
  Bytes reach() const;
  void trim() override;

 private:
  struct Lender {
    Loan loan;
    Bytes taken;
    bool settled = false;
    Bytes refused{};    // the smallest size that it refused, or none
    bool said = false;  // the refusal was logged
    Bytes left() const { return loan.bytes - taken; }
  };

  // A snapshot.
  std::vector<Lender> lenders() const;
  Status try_lender(const Lender& lender, DeviceId borrower);
  void note_refused(Lender& lender, Bytes bytes) REQUIRES_LOCK(lenders_mutex_);
  Result<Made> create_frame(Bytes bytes) override;
  Status destroy_frame(FrameId frame, Bytes bytes) override;

  mutable Mutex lenders_mutex_{LockRank::kLenders};
  std::vector<Lender> lenders_ GUARDED_BY(lenders_mutex_);
  std::unordered_map<FrameId, std::size_t> lender_of_ GUARDED_BY(lenders_mutex_);
};

}  // namespace tessera
