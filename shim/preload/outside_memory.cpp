#include "outside_memory.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "lifecycle.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

using Kind = OutsideMemory::Kind;

constexpr const char* kNames[OutsideMemory::kKinds] = {"virtual_memory", "pools",    "managed",
                                                       "arrays",         "imported", "unmanaged"};

// What makes such memory movable. The first row whose library made the call.
struct Remedy {
  Kind kind;
  const char* library;  // part of the name of the file; "": any
  const char* text;
};
constexpr Remedy kRemedies[] = {
    {Kind::kVirtual, "libnccl", "buffers of NCCL stay: leave room for them with --device-memory"},
    {Kind::kVirtual, "c10_cuda", "PyTorch: leave expandable_segments off in PYTORCH_ALLOC_CONF"},
    {Kind::kVirtual, "xla", "JAX: leave XLA_PYTHON_CLIENT_ALLOCATOR to `tessera run`, or set it to cuda_async"},
    {Kind::kVirtual, "ggml", "llama.cpp: build it with GGML_CUDA_NO_VMM"},
    {Kind::kVirtual, "", "let the program allocate with cudaMalloc or cudaMallocAsync"},
    {Kind::kPool, "",
     "let the program allocate from a pool that it shares with no other process or device, or with cudaMalloc"},
    {Kind::kManaged, "",
     "cudaMalloc instead: unset TF_FORCE_UNIFIED_MEMORY (JAX, AlphaFold 3) and GGML_CUDA_ENABLE_UNIFIED_MEMORY "
     "(llama.cpp), set CUDF_PANDAS_RMM_MODE=async (cudf.pandas)"},
    {Kind::kArray, "", "arrays stay: leave room for them with --device-memory"},
    {Kind::kImported, "", "it is memory of another process"},
    {Kind::kUnmanaged, "", "allocate in the device's primary context"},
};

const char* remedy_of(Kind kind, const char* library) {
  for (const Remedy& remedy : kRemedies) {
    if (remedy.kind == kind && std::strstr(library, remedy.library) != nullptr) return remedy.text;
  }
  return "";
}

CUdevice device_in_use() {
  CUdevice device = 0;
  return call_true(&TrueDriver::cuCtxGetDevice, &device) == CUDA_SUCCESS ? device : 0;
}

CUcontext context_in_use() {
  CUcontext context = nullptr;
  return call_true(&TrueDriver::cuCtxGetCurrent, &context) == CUDA_SUCCESS ? context : nullptr;
}

bool is_on_device(CUmemGenericAllocationHandle handle, CUdevice& device) {
  CUmemAllocationProp properties{};
  if (call_true(&TrueDriver::cuMemGetAllocationPropertiesFromHandle, &properties, handle) != CUDA_SUCCESS) return false;
  device = properties.location.id;
  return properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

std::uint64_t channel_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 1;  // compressed and video formats: at most about this
  }
}

}  // namespace

// ---- totals, with the lock held ------------------------------------------------------------------

void OutsideMemory::tell_one(tessera_allocator* allocator, Kind kind, CUdevice device) {
  const auto index = static_cast<std::size_t>(kind);
  const Total& all = totals_[index];
  const tessera_outside outside{sizeof(outside),
                                device,
                                kNames[index],
                                all.bytes[static_cast<std::size_t>(device)],
                                all.remedy,
                                all.first_call.data(),
                                kind == Kind::kImported ? 1 : 0};
  const preload::Entry inside;
  (void)tessera_set_outside(allocator, &outside);  // fails only for wrong arguments
}

void OutsideMemory::add(Kind kind, CUdevice device, std::uint64_t bytes, const Call& call) {
  Total& all = total(kind);
  if (all.first_call[0] == '\0') {
    Dl_info info{};
    const bool known = call.caller != nullptr && ::dladdr(call.caller, &info) != 0 && info.dli_fname != nullptr;
    const char* const path = known ? info.dli_fname : "";
    const char* const slash = std::strrchr(path, '/');
    const char* const library = slash != nullptr ? slash + 1 : path;
    std::snprintf(all.first_call.data(), all.first_call.size(), "%s%s%s", call.name, *library != '\0' ? " of " : "",
                  library);
    all.remedy = remedy_of(kind, library);
  }
  all.bytes[static_cast<std::size_t>(device)] += bytes;
  if (tessera_allocator* const allocator = running()) tell_one(allocator, kind, device);
}

void OutsideMemory::subtract(Kind kind, CUdevice device, std::uint64_t bytes) {
  total(kind).bytes[static_cast<std::size_t>(device)] -= bytes;
  if (tessera_allocator* const allocator = running()) tell_one(allocator, kind, device);
}

void OutsideMemory::tell(tessera_allocator* allocator) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    for (std::size_t device = 0; device < kDevices; ++device) {
      if (totals_[kind].bytes[device] != 0) tell_one(allocator, static_cast<Kind>(kind), static_cast<CUdevice>(device));
    }
  }
}

// ---- allocations ---------------------------------------------------------------------------------

void OutsideMemory::took(Kind kind, std::uint64_t key, std::uint64_t bytes, CUdevice device, const Call& call) {
  if (device < 0 || static_cast<std::size_t>(device) >= kDevices || stays_out()) return;
  std::uint64_t all = 0;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (entries(kind).size() >= kMost) return;
    const CUcontext context = kind == Kind::kVirtual ? nullptr : context_in_use();
    const auto [entry, is_new] = entries(kind).try_emplace(key, Entry{bytes, device, context});
    if (!is_new) {  // the driver has ended the former without a call that we saw
      subtract(kind, entry->second.device, entry->second.bytes);
      entry->second = Entry{bytes, device, context};
    }
    add(kind, device, bytes, call);
    for (const Total& total : totals_) all += total.bytes[static_cast<std::size_t>(device)];
  }
  // Less is not worth a line, and so not a start. It reports the totals when it has started.
  if (all >= TESSERA_OUTSIDE_LEAST && running() == nullptr) (void)attend();
}

void OutsideMemory::gave_back(Kind kind, std::uint64_t key) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto entry = entries(kind).find(key);
  if (entry == entries(kind).end()) return;
  subtract(kind, entry->second.device, entry->second.bytes);
  entries(kind).erase(entry);
}

void OutsideMemory::gave_back_address(std::uint64_t address) {
  for (const Kind kind : {Kind::kPool, Kind::kManaged, Kind::kUnmanaged}) gave_back(kind, address);
}

void OutsideMemory::context_ends(CUcontext context) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    std::erase_if(entries_[kind], [&](const auto& entry) {
      if (entry.second.context != context || context == nullptr) return false;
      subtract(static_cast<Kind>(kind), entry.second.device, entry.second.bytes);
      return true;
    });
  }
}

// ---- handles -------------------------------------------------------------------------------------

void OutsideMemory::erase_if_unused(Entries::iterator entry) {
  if (entry->second.handles != 0 || entry->second.mappings != 0) return;
  subtract(Kind::kVirtual, entry->second.device, entry->second.bytes);
  entries(Kind::kVirtual).erase(entry);
}

void OutsideMemory::mapped(CUdeviceptr address, std::size_t bytes, CUmemGenericAllocationHandle handle,
                           const Call& call) {
  if (stays_out()) return;
  CUdevice device = 0;
  const std::lock_guard<std::mutex> guard(mutex_);
  if (mappings_.size() >= kMost) return;
  const auto entry = entries(Kind::kVirtual).find(handle);
  if (entry != entries(Kind::kVirtual).end()) {
    ++entry->second.mappings;
    mappings_[address] = {bytes, handle, 0};
  } else if (is_on_device(handle, device) && static_cast<std::size_t>(device) < kDevices) {
    mappings_[address] = {bytes, 0, device};
    add(Kind::kImported, device, bytes, call);
  }
}

void OutsideMemory::unmapped(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard<std::mutex> guard(mutex_);
  auto mapping = mappings_.lower_bound(address);
  while (mapping != mappings_.end() && mapping->first < address + bytes) {
    const auto entry = entries(Kind::kVirtual).find(mapping->second.handle);
    if (mapping->second.handle == 0) {
      subtract(Kind::kImported, mapping->second.device, mapping->second.bytes);
    } else if (entry != entries(Kind::kVirtual).end()) {
      --entry->second.mappings;
      erase_if_unused(entry);
    }
    mapping = mappings_.erase(mapping);
  }
}

void OutsideMemory::retained(CUmemGenericAllocationHandle handle) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto entry = entries(Kind::kVirtual).find(handle);
  if (entry != entries(Kind::kVirtual).end()) ++entry->second.handles;
}

void OutsideMemory::released(CUmemGenericAllocationHandle handle) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto entry = entries(Kind::kVirtual).find(handle);
  if (entry == entries(Kind::kVirtual).end() || entry->second.handles == 0) return;
  --entry->second.handles;
  erase_if_unused(entry);
}

// Never destroyed: exit handlers may still free memory.
OutsideMemory& outside_memory() {
  static auto& all = *new OutsideMemory;
  return all;
}

// ---- for the hooks -------------------------------------------------------------------------------

std::uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels) {
  if ((shape.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0) return 0;
  const bool is_layered = (shape.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  std::uint64_t bytes = 0;
  for (unsigned level = 0; level < levels && level < 32; ++level) {
    const auto extent = [&](std::size_t whole) { return std::max<std::uint64_t>(whole >> level, 1); };
    const std::uint64_t depth = is_layered ? std::max<std::uint64_t>(shape.Depth, 1) : extent(shape.Depth);
    bytes += extent(shape.Width) * extent(shape.Height) * depth * shape.NumChannels * channel_bytes(shape.Format);
  }
  return bytes;
}

CUresult note_handle(CUresult result, const CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* properties, const void* caller) {
  if (result != CUDA_SUCCESS) return result;
  const bool on_device = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (on_device)
    outside_memory().took(Kind::kVirtual, *handle, bytes, properties->location.id, {"cuMemCreate", caller});
  return result;
}

CUresult note_address(CUresult result, Kind kind, const CUdeviceptr* address, std::size_t bytes,
                      const OutsideMemory::Call& call) {
  if (result == CUDA_SUCCESS) outside_memory().took(kind, *address, bytes, device_in_use(), call);
  return result;
}

CUresult note_pooled(CUresult result, const CUdeviceptr* address, std::size_t bytes, const OutsideMemory::Call& call) {
  if (result != CUDA_SUCCESS) return result;
  unsigned type = 0, managed = 0;
  const auto ask = [&](unsigned& answer, CUpointer_attribute attribute) {
    return call_true(&TrueDriver::cuPointerGetAttribute, &answer, attribute, *address) == CUDA_SUCCESS;
  };
  if (ask(managed, CU_POINTER_ATTRIBUTE_IS_MANAGED) && managed != 0) {
    return note_address(result, Kind::kManaged, address, bytes, call);
  }
  const bool on_device = !ask(type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) || type == CU_MEMORYTYPE_DEVICE;
  return on_device ? note_address(result, Kind::kPool, address, bytes, call) : result;
}

CUresult note_array(CUresult result, std::uint64_t array, std::uint64_t bytes, const OutsideMemory::Call& call) {
  if (result == CUDA_SUCCESS) outside_memory().took(Kind::kArray, array, bytes, device_in_use(), call);
  return result;
}

CUresult note_freed(CUresult result, CUdeviceptr address) {
  if (result == CUDA_SUCCESS) outside_memory().gave_back_address(address);
  return result;
}

}  // namespace tessera::preload
