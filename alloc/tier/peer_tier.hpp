// Memory that other devices lend: nearer than host memory where devices have links of their own.
//
// A frame is memory of a lender, which never sees it; the borrowers copy through its alias. Which lender gives
// a frame does not matter to who takes it, and the one that has most left is asked first, so that pages lie on all
// of them in turn (MPress, HPCA 2023, stripes them as well). What is lent is taken from a lender when it is needed
// first, and kept as spare frames then. Who has less than it was to lend is not asked again for so much before
// something of it went back.
//
// Thread safety: as tier.hpp says.
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
  // Its capacity is all that is lent. REQUIRES: each lender is named once.
  PeerTier(Driver& driver, std::vector<Loan> loans);
  // Destroys all spare frames. REQUIRES: as destroy_all.
  ~PeerTier() override;

  bool lends(DeviceId device) const;
  // Holds a loan against what the lender has free, and lowers it to that, with a line. Once for each lender: before
  // its own heap, or a borrower, takes anything. Does nothing for who is none.
  void settle(DeviceId device);
  // Admits the device, if it reaches the memory of each lender (peer_link.hpp): any of them may give the next frame.
  // Errors: the driver's, and which lender it was.
  Status try_admit(DeviceId device);
  // What may yet be taken from a lender; 0 for who is none.
  Bytes to_come_from(DeviceId device) const;
  // Its capacity, but of those who have no more to lend what they lent.
  Bytes reach() const;
  void trim() override;

 private:
  struct Lender {
    Loan loan;
    Bytes taken;
    bool settled = false;
    Bytes refused{};    // the least that it had not, or none
    bool said = false;  // that it had not
    Bytes left() const { return loan.bytes - taken; }
  };

  // Each as it was when this was asked.
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
