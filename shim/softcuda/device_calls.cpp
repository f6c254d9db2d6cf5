// cuDevice*: the devices and their attributes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "call.hpp"
#include "kernel_launch.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

struct AttributeValue {
  CUdevice_attribute attribute;
  int value;
};

// Attributes that programs may rely on here. All others are 0: "no", "none".
constexpr AttributeValue kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 << 10},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0x7fffffff},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 1024},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 48 << 10},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, kBlocksPerMultiprocessor},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 1},
};

// A device that several processes share has one UUID in all of them. One that no other process uses has none: zeros.
void write_uuid(const Environment& environment, CUdevice device, CUuuid& uuid) {
  std::uint64_t words[2] = {};
  static_assert(sizeof(uuid.bytes) == sizeof(words));
  if (!environment.shared.empty()) {
    words[0] = 0xcbf29ce484222325;
    for (const char c : environment.shared) words[0] = (words[0] ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    words[1] = static_cast<std::uint64_t>(device);
  }
  std::memcpy(uuid.bytes, words, sizeof(uuid.bytes));
}

int attribute_value(const Environment& environment, CUdevice device, CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
      return environment.virtual_memory ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: return environment.virtual_memory ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      return environment.virtual_memory && environment.host_frames ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED: return environment.host_frames ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return static_cast<int>(environment.multiprocessors);
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: return device;
    default: break;
  }
  const auto* const known = std::find_if(std::begin(kAttributes), std::end(kAttributes),
                                         [&](const AttributeValue& entry) { return entry.attribute == attribute; });
  return known == std::end(kAttributes) ? 0 : known->value;
}

}  // namespace

CUresult cuDeviceGetCount(int* count) {
  return with_machine([&](Machine& machine) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = machine.environment.devices;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return on_device(ordinal, [&](Machine&, DeviceId) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return on_device(device, [&](Machine& machine, DeviceId id) -> CUresult {
    if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    const auto properties = machine.driver.properties(id);
    if (!properties.is_ok()) return to_result(properties.status());
    const std::string& text = properties.value().name;
    const size_t kept = std::min(text.size(), static_cast<size_t>(length) - 1);
    std::memcpy(name, text.data(), kept);
    name[kept] = '\0';
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return on_device(device, [&](Machine& machine, DeviceId) {
    if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    write_uuid(machine.environment, device, *uuid);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return on_device(device, [&](Machine& machine, DeviceId) {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *bytes = machine.environment.memory.value();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return on_device(device, [&](Machine& machine, DeviceId) {
    if (value == nullptr || attribute <= 0 || static_cast<int>(attribute) >= TESSERA_DEVICE_ATTRIBUTE_END) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *value = attribute_value(machine.environment, device, attribute);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return on_device(device, [&](Machine&, DeviceId) {
    if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *major = 9;
    *minor = 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return on_device(device, [&](Machine&, DeviceId) {
    if (text == nullptr || length < 13) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(text, "0000:00:00.0", 13);
    text[9] = static_cast<char>('0' + device % 10);
    text[8] = static_cast<char>('0' + device / 10 % 10);
    return CUDA_SUCCESS;
  });
}
