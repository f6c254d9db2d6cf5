// What the driver reports about an address in each state: an interposer must answer these queries instead.
#include "gpu.hpp"

namespace first_light {
namespace {

// One attribute: its value, or the error code. Addresses are printed as distances.
template <class T>
Json ask(CUpointer_attribute which, CUdeviceptr address, bool distance = false) {
  T value{};
  const CUresult asked = cuPointerGetAttribute(&value, which, address);
  if (asked != CUDA_SUCCESS) return outcome(asked);
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uint64_t>(value) == address ? Json("same") : Json(value != nullptr);
  } else {
    if (distance) return static_cast<std::int64_t>(value) - static_cast<std::int64_t>(address);
    return value;
  }
}

Json describe(CUdeviceptr address) {
  Json facts = {{"memory_type", ask<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)},
                {"device_pointer", ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address, true)},
                {"host_pointer", ask<void*>(CU_POINTER_ATTRIBUTE_HOST_POINTER, address)},
                {"managed", ask<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, address)},
                {"mapped", ask<unsigned>(CU_POINTER_ATTRIBUTE_MAPPED, address)},
                {"ordinal", ask<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address)},
                {"range_start", ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address, true)},
                {"range_bytes", ask<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, address)},
                {"mapping_start", ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, address, true)},
                {"mapping_bytes", ask<std::size_t>(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, address)},
                {"buffer_id", ask<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, address)},
                {"memory_block_id", ask<unsigned long long>(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, address)},
                {"handle_types", ask<unsigned long long>(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, address)},
                {"legacy_ipc", ask<int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address)},
                {"rdma", ask<int>(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, address)},
                {"access_flags", ask<int>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address)}};
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  const CUresult asked = cuMemGetAddressRange(&base, &bytes, address);
  facts["address_range"] = asked == CUDA_SUCCESS
                               ? Json{{"start", static_cast<std::int64_t>(base - address)}, {"bytes", bytes}}
                               : outcome(asked);
  return facts;
}

// Each query uses an address one page into its range, so that starts and bases can be distinguished.
Answer pointer_attributes(const Settings&) {
  Gpu gpu;
  Frame device(gpu, Place::kDevice, kPage), host(gpu, Place::kHost, kPage);
  Frame closed(gpu, Place::kDevice, kPage);
  Window window(gpu, 8 * kPage);
  window.mount(device, kPage);
  window.mount(host, 2 * kPage);
  must(window.map(closed, 3 * kPage), "cuMemMap");
  PlainBlock plain(kPage);
  PinnedHost pinned(kPage);
  CUdeviceptr pinned_address = 0;
  MUST(cuMemHostGetDevicePointer(&pinned_address, pinned.as<void>(), 0));
  constexpr std::size_t kInside = 4096;
  return {"measured",
          {{"cuMemAlloc", describe(plain + kInside)},
           {"on_device", describe(window.at(kPage + kInside))},
           {"on_host", describe(window.at(2 * kPage + kInside))},
           {"without_access", describe(window.at(3 * kPage + kInside))},
           {"not_mapped", describe(window.at(4 * kPage + kInside))},
           {"pinned", describe(pinned_address + kInside)}}};
}

// Do a block's attributes change when other memory is mapped at its address?
Answer attributes_after_swap(const Settings&) {
  Gpu gpu;
  Frame device(gpu, Place::kDevice, kPage), host(gpu, Place::kHost, kPage);
  Window window(gpu, kPage);
  window.mount(device);
  const Json before = describe(window.at());
  must(window.unmap(0, kPage), "cuMemUnmap");
  window.mount(host);
  const Json cold = describe(window.at());
  must(window.unmap(0, kPage), "cuMemUnmap");
  window.mount(device);
  const Json after = describe(window.at());
  Json changed = Json::array();
  for (const auto& [name, value] : before.items()) {
    if (cold.at(name) != value || after.at(name) != value) {
      changed.push_back({{"attribute", name}, {"before", value}, {"cold", cold.at(name)}, {"after", after.at(name)}});
    }
  }
  return yes_if(!changed.empty(), {{"changed", changed}});
}

}  // namespace

std::vector<Probe> query_probes() {
  return {{"pointer_attributes", "what is reported about an address in each state", pointer_attributes},
          {"attributes_after_swap", "do a block's attributes change with a swap", attributes_after_swap}};
}

}  // namespace first_light
