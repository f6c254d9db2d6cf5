// How programs share one device: a pure function of what each holds, wants, and when it used the device.
//
// Programs that use the device get what they want, the others what is left. Where those that use it want more than the
// device has, one at a time has it, in turns of a time slice: working sets that replace each other at each launch would
// only move. Without slices their shares are fair by weight (shares.hpp).
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "node/row.hpp"

namespace tessera {

// A program that has not used the device for this time is idle.
inline constexpr Nanoseconds kDeviceIdleAfter{1'000'000'000};
// A program that has not looked for its turn for this time does not wait for it any more.
inline constexpr Nanoseconds kTurnWaitLasts{1'000'000'000};

struct DeviceClaimant {
  Bytes held, wanted;
  std::uint32_t weight = 1;
  bool active = false;  // it uses the device, or waits for its turn
  bool waits = false;
  Nanoseconds turn{};   // when its last turn began; 0: it had none
  Nanoseconds slice{};  // how long that lasts
  Bytes ahead{};        // of growth: what it may hold in its turn beyond what it wants

  static DeviceClaimant of(const LedgerRow& row, Nanoseconds now);
};

struct DeviceShares {
  std::vector<Bytes> shares;          // by claimant; the sum is at most the budget
  bool contended = false;             // those that use the device want more than it has
  std::optional<std::size_t> holder;  // whose turn it is; none without slices

  // What a claimant may hold: all but the shares of the others.
  Bytes ceiling(Bytes budget, std::size_t index) const;
  // What the others hold beyond theirs, and are about to give back.
  Bytes owed(Bytes budget, std::span<const DeviceClaimant> claimants, std::size_t to) const;
};

enum class Turns : bool { kNone, kOneAtATime };
// REQUIRES: weights are at least 1, their sum fits into 32 bits, and `budget` is less than 2^63.
DeviceShares device_shares(Bytes budget, std::span<const DeviceClaimant> claimants, Turns turns);

// Whether a claimant that waits may begin its turn now: there is no holder, or the holder's slice is over, and no other
// has waited for longer since its own last turn.
bool may_begin_turn(const DeviceShares& shares, std::span<const DeviceClaimant> claimants, std::size_t index,
                    Nanoseconds now);

}  // namespace tessera
