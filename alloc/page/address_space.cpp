#include "page/address_space.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.hpp"

namespace tessera {

Result<std::unique_ptr<AddressSpace>> AddressSpace::reserve(Driver& driver, Bytes wanted,
                                                            Bytes least) {
  least = std::max(round_up(least, kLargePage), kLargePage);
  Status refused(Code::kOutOfMemory, "no addresses were asked for");
  for (Bytes size = std::max(wanted, least); size >= least; size = size / 2) {
    const std::uint64_t windows = size / kLargePage;
    auto low = driver.reserve(kLargePage * windows, kLargePage);
    if (low.is_ok()) {
      return std::unique_ptr<AddressSpace>(new AddressSpace(driver, low.value(), windows));
    }
    refused = low.status();
  }
  return Status(Code::kOutOfMemory,
                fmt::format("the driver reserves no {} bytes of addresses: {}", least.value(),
                            refused.to_string()),
                refused.native_code());
}

AddressSpace::AddressSpace(Driver& driver, Address low, std::uint64_t windows)
    : driver_(driver), low_(low), windows_(windows) {
  free_.give(0, windows);
}

AddressSpace::~AddressSpace() {
  const Status released = driver_.release(low_, bytes());
  if (!released.is_ok()) {
    log_line(LogLevel::kWarning, "addresses not given back: {}", released.to_string());
  }
}

Status AddressSpace::validate() const {
  TESSERA_TRY(free_.validate());
  if (free_.free_count() > windows_ || free_.extent_at(windows_)) {
    return Status(Code::kInternal, fmt::format("{} windows free of {}, or one beyond the end",
                                               free_.free_count(), windows_));
  }
  return Status::ok();
}

}  // namespace tessera
