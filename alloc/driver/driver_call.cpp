#include "driver/driver_call.hpp"

namespace tessera {

std::string_view name_of(DriverCall call) {
  switch (call) {
    case DriverCall::kDeviceCount: return "device_count";
    case DriverCall::kProperties: return "properties";
    case DriverCall::kMemoryInfo: return "memory_info";
    case DriverCall::kSynchronizeDevice: return "synchronize_device";
    case DriverCall::kReserve: return "reserve";
    case DriverCall::kRelease: return "release";
    case DriverCall::kCreateFrame: return "create_frame";
    case DriverCall::kDestroyFrame: return "destroy_frame";
    case DriverCall::kMap: return "map";
    case DriverCall::kSetAccess: return "set_access";
    case DriverCall::kUnmap: return "unmap";
    case DriverCall::kRegisterHost: return "register_host";
    case DriverCall::kUnregisterHost: return "unregister_host";
    case DriverCall::kCreateStream: return "create_stream";
    case DriverCall::kDestroyStream: return "destroy_stream";
    case DriverCall::kSynchronizeStream: return "synchronize_stream";
    case DriverCall::kWaitEvent: return "wait_event";
    case DriverCall::kCreateEvent: return "create_event";
    case DriverCall::kCreateTimedEvent: return "create_timed_event";
    case DriverCall::kDestroyEvent: return "destroy_event";
    case DriverCall::kRecordEvent: return "record_event";
    case DriverCall::kQueryEvent: return "query_event";
    case DriverCall::kSynchronizeEvent: return "synchronize_event";
    case DriverCall::kElapsed: return "elapsed";
    case DriverCall::kCopyIn: return "copy_in";
    case DriverCall::kCopyOut: return "copy_out";
    case DriverCall::kCopyAll: return "copy_all";
    case DriverCall::kCopy: return "copy";
    case DriverCall::kFill: return "fill";
    case DriverCall::kLaunch: return "launch";
    case DriverCall::kFingerprint: return "fingerprint";
  }
  return "unknown call";
}

}  // namespace tessera
