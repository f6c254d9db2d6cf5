// The CUresult numbers that drivers put into Status, as plain constants.
//
// Why: layers and tests compare native codes, and no CUDA header may be included outside cuda_driver and shim/. The
// numbers are those of the documented driver API and never change.
//
// Thread safety: constants.
#pragma once

namespace tessera::native {

inline constexpr int kSuccess = 0;
inline constexpr int kInvalidValue = 1;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNotInitialized = 3;
inline constexpr int kDeinitialized = 4;
inline constexpr int kNoDevice = 100;
inline constexpr int kInvalidDevice = 101;
inline constexpr int kInvalidContext = 201;
inline constexpr int kMapFailed = 205;
inline constexpr int kInvalidHandle = 400;
inline constexpr int kNotFound = 500;
inline constexpr int kNotReady = 600;
inline constexpr int kIllegalAddress = 700;
inline constexpr int kLaunchOutOfResources = 701;
inline constexpr int kHostMemoryAlreadyRegistered = 712;
inline constexpr int kHostMemoryNotRegistered = 713;
inline constexpr int kLaunchFailed = 719;
inline constexpr int kNotSupported = 801;
inline constexpr int kUnknown = 999;

}  // namespace tessera::native
