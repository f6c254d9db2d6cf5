// The calls of the driver contract by name, for the wrappers that count, fail and record them.
//
// Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tessera {

// In the order of driver.hpp. Overloads for a device, a stream and an event are distinct.
enum class DriverCall : std::uint8_t {
  kDeviceCount,
  kProperties,
  kMemoryInfo,
  kSynchronizeDevice,
  kReserve,
  kRelease,
  kCreateFrame,
  kDestroyFrame,
  kMap,
  kSetAccess,
  kUnmap,
  kRegisterHost,
  kUnregisterHost,
  kCreateStream,
  kDestroyStream,
  kSynchronizeStream,
  kWaitEvent,
  kCreateEvent,
  kCreateTimedEvent,
  kDestroyEvent,
  kRecordEvent,
  kQueryEvent,
  kSynchronizeEvent,
  kElapsed,
  kCopyIn,
  kCopyOut,
  kCopyAll,
  kCopy,
  kFill,
  kLaunch,
  kFingerprint,
};

inline constexpr std::size_t kDriverCalls = static_cast<std::size_t>(DriverCall::kFingerprint) + 1;

std::string_view name_of(DriverCall call);

}  // namespace tessera
