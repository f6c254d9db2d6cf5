// Whether a fingerprint pays: for one page, by the results of its last ones; for all pages, by the cost of checking and
// of copying.
//
// Pure: no clock, no device.
//
// Thread safety: values.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.hpp"

namespace tessera {

// A page that had changed is copied 1, 2, 4 ... times without a check; a page that had not changed is checked each
// time.
class FingerprintHabit {
 public:
  void same() { changes_ = rest_ = 0; }
  void changed() {
    rest_ = static_cast<std::uint8_t>(1U << changes_);
    changes_ = std::min<std::uint8_t>(changes_ + 1, kMostDoublings);
  }
  // The page is about to be evicted by a copy, unchecked. Returns whether to take the fingerprint of the copy, so that
  // the next eviction can check.
  bool counts_copy() {
    if (rest_ > 0) --rest_;
    return rest_ == 0;
  }

 private:
  static constexpr std::uint8_t kMostDoublings = 6;  // 64 times

  std::uint8_t changes_ = 0;  // in a row
  std::uint8_t rest_ = 0;     // copies to come without a check
};

// Over all pages: whether a check costs less than it is likely to save.
class FingerprintOdds {
 public:
  void note(Bytes bytes, bool same) {
    asked_ += bytes;
    if (same) same_ += bytes;
    if (asked_ < kMemory) return;
    asked_ = asked_ / 2;
    same_ = same_ / 2;
  }
  // Whether to check a page, and whether to fingerprint a copy so that its page can be checked later. Rates are in
  // bytes per second; 0 where not measured, which counts as worth trying. Where it does not pay it is still tried now
  // and then, since rates and programs change.
  bool pays_to_ask(double fingerprint_rate, double copy_rate) {
    return pays(fingerprint_rate, copy_rate) || ++refused_ % kRetryAsking == 0;
  }
  bool pays_to_take(double fingerprint_rate, double copy_rate) {
    return pays(fingerprint_rate, copy_rate) || ++untaken_ % kRetryTaking == 0;
  }
  // The probability that a page is unchanged; starts at 1.
  double chance() const {
    return static_cast<double>((same_ + kPrior).value()) / static_cast<double>((asked_ + kPrior).value());
  }

 private:
  static constexpr Bytes kMemory = 4_GiB;  // beyond this the older half has half the weight
  static constexpr Bytes kPrior = 64_MiB;
  static constexpr std::uint32_t kRetryAsking = 4;
  static constexpr std::uint32_t kRetryTaking = 64;

  bool pays(double fingerprint_rate, double copy_rate) const {
    return fingerprint_rate <= 0 || copy_rate <= 0 || fingerprint_rate * chance() > copy_rate;
  }

  Bytes asked_, same_;
  std::uint32_t refused_ = 0, untaken_ = 0;
};

}  // namespace tessera
