// cuPointerGetAttribute(s). No current context is needed: programs query the context of an address with it.
#include <cstring>

#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

struct Pointer {
  Address address;
  Range range;
  std::optional<SimMapping> mapping;  // of memory that the device holds
  bool accessible;                    // by the device of the current context

  // A module's variables count as device memory, although kernels that are host code have them in host memory.
  bool in_host() const { return range.in_host() && range.kind != RangeKind::kGlobal; }
  bool mapped() const { return range.in_host() || mapping.has_value(); }
};

template <class T>
CUresult give(void* target, T value) {
  std::memcpy(target, &value, sizeof(value));
  return CUDA_SUCCESS;
}

// A driver writes an int where the header says boolean.
CUresult give_truth(void* target, bool value) { return give(target, value ? 1 : 0); }

// Host memory is mapped in whole pages of the device.
std::uint64_t mapping_bytes(const Range& range) {
  return (range.kind == RangeKind::kHost ? round_up(range.bytes, 2_MiB) : range.bytes).value();
}

CUresult write_attribute(const Pointer& pointer, CUpointer_attribute attribute, void* target) {
  const Range& range = pointer.range;
  const std::uint64_t address = pointer.address.value();
  const bool frame_in_host = pointer.mapping && pointer.mapping->frame.location == FrameLocation::kHost;
  switch (attribute) {
    // Pool memory and mapped memory belong to no context.
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      const bool of_none = range.pool != nullptr || range.kind == RangeKind::kReservation;
      return give(target, of_none ? nullptr : handle_of(range.context));
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give(target,
                  (pointer.in_host() || frame_in_host) && !range.managed ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return give(target, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!pointer.in_host() && !range.in_host_frame) return CUDA_ERROR_INVALID_VALUE;
      return give(target, address);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return give(target, range.id);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return give(target, range.context == nullptr ? 0 : static_cast<int>(range.context->device.value()));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return give(target, range.base.value());
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return give(target, range.bytes.value());
    case CU_POINTER_ATTRIBUTE_MAPPED: return give_truth(target, pointer.mapped());
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return give(target, pointer.mapping ? pointer.mapping->address.value() : range.base.value());
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return give(target, pointer.mapping ? pointer.mapping->bytes.value() : mapping_bytes(range));
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return give(target, pointer.accessible ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                                             : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return give_truth(target, range.synchronous);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: return give_truth(target, range.legacy_shareable());
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return give_truth(target, range.managed);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: return give_truth(target, false);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: {
      const bool shareable = range.shareable || (pointer.mapping && pointer.mapping->frame.shareable);
      const auto types = shareable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
      return give(target, static_cast<unsigned long long>(types));
    }
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return give(target, range.pool);
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

size_t bytes_of(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: return sizeof(int);
    default: return sizeof(void*);
  }
}

// Calls body(machine). A sticky error of the current context is returned.
template <class Body>
CUresult in_any_context(Body&& body) {
  if (current_context() == nullptr) return with_machine(body);
  return in_context([&](Machine& machine, Context&) { return body(machine); });
}

std::optional<Pointer> find(Machine& machine, CUdeviceptr address) {
  const auto range = machine.ranges.find(Address(address));
  if (!range) return std::nullopt;
  const Context* const current = current_context();
  const auto mapping = machine.driver.mapping_at(Address(address));
  const DeviceId device = current != nullptr ? current->device : DeviceId(0);
  const bool own = mapping && (mapping->access >> device.value() & 1) != 0;
  return Pointer{Address(address), *range, mapping,
                 range->in_host() || own || machine.contexts.is_peer(current, range->context)};
}

}  // namespace

CUresult cuPointerGetAttribute(void* target, CUpointer_attribute attribute, CUdeviceptr address) {
  return in_any_context([&](Machine& machine) -> CUresult {
    if (target == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto pointer = find(machine, address);
    if (!pointer) return CUDA_ERROR_INVALID_VALUE;
    return write_attribute(*pointer, attribute, target);
  });
}

// Unlike the single-attribute call, this one returns zeros for an unknown address.
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** targets, CUdeviceptr address) {
  return in_any_context([&](Machine& machine) -> CUresult {
    if (attributes == nullptr || targets == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto pointer = find(machine, address);
    for (unsigned i = 0; i < count; ++i) {
      if (targets[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      const CUresult written =
          pointer ? write_attribute(*pointer, attributes[i], targets[i]) : CUDA_ERROR_INVALID_VALUE;
      if (written == CUDA_SUCCESS) continue;
      std::memset(targets[i], 0, bytes_of(attributes[i]));
      if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) give(targets[i], -2);
    }
    return CUDA_SUCCESS;
  });
}

// Only one attribute can be set, and it has no effect here, as nothing moves bytes without the driver.
CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return in_any_context([&](Machine& machine) -> CUresult {
    if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const auto range = machine.ranges.find(Address(address));
    const bool mapped =
        range && (range->kind != RangeKind::kReservation || machine.driver.mapping_at(Address(address)));
    if (!mapped) return CUDA_ERROR_INVALID_VALUE;
    unsigned wanted = 0;
    std::memcpy(&wanted, value, sizeof(wanted));
    return machine.ranges.set_synchronous(Address(address), wanted != 0) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}
