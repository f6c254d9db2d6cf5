// cuDev*Resource*, cu*GetDevResource: the resources of a device or a context, and how they are split for green
// contexts.
#include <algorithm>
#include <bit>

#include "call.hpp"
#include "green_shares.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

constexpr unsigned kMostCoscheduled = 32;
constexpr unsigned kQueueLimit = 8;  // concurrent work queues: the driver's default
constexpr unsigned kFine = 2;        // the unit of a group without co-scheduling

// Newer programs pass kinds that this header's enumeration lacks, so a kind is read as a number.
unsigned number_of(const CUdevResourceType& type) { return std::bit_cast<unsigned>(type); }

CUresult tell(CUdevResource* resource, unsigned type, DeviceId device, const GreenShare& share) {
  if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TesseraDevResource told{};
  switch (type) {
    case CU_DEV_RESOURCE_TYPE_SM: told = multiprocessors_of(device, share.multiprocessors, share.alignment); break;
    case TESSERA_RESOURCE_QUEUE_SETTINGS:
      told = queue_settings_of(device, share.queue_limit != 0 ? share.queue_limit : kQueueLimit, share.queue_scope);
      break;
    case TESSERA_RESOURCE_QUEUES: told = queues_of(device); break;
    default: return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  }
  *resource = std::bit_cast<CUdevResource>(told);
  return CUDA_SUCCESS;
}

GreenShare whole(Machine& machine) {
  const std::uint64_t count = machine.environment.multiprocessors;
  return {.multiprocessors = static_cast<unsigned>(count), .alignment = group_unit(count)};
}

CUresult tell_of(Machine& machine, Context* context, CUdevResource* resource, unsigned type) {
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return tell(resource, type, context->device, context->green ? context->share : whole(machine));
}

// The number of multiprocessors in `input`; 0 for another kind of resource.
unsigned to_divide(const CUdevResource* input, DeviceId& device) {
  if (input == nullptr) return 0;
  const auto resource = std::bit_cast<TesseraDevResource>(*input);
  return resource.type == CU_DEV_RESOURCE_TYPE_SM && is_of(resource, device) ? resource.of.sm.count : 0;
}

void give_rest(CUdevResource* remainder, DeviceId device, unsigned count, unsigned alignment) {
  if (remainder == nullptr) return;
  *remainder =
      count != 0 ? std::bit_cast<CUdevResource>(multiprocessors_of(device, count, alignment)) : CUdevResource{};
}

// The number of multiprocessors that a group gets from the remaining ones; 0 if its requirements cannot be met.
unsigned group_of(const CU_DEV_SM_RESOURCE_GROUP_PARAMS& asked, unsigned unit, unsigned left) {
  const bool backfill = (asked.flags & TESSERA_RESOURCE_BACKFILL) != 0;
  if (asked.smCount == 0) return backfill ? left / kFine * kFine : left / unit * unit;
  const bool fits = asked.smCount <= left && asked.smCount % std::min(kFine, unit) == 0;
  return fits && (backfill || asked.smCount % unit == 0) ? asked.smCount : 0;
}

}  // namespace

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
  return with_machine([&](Machine& machine) {
    if (device < 0 || device >= machine.environment.devices) return CUDA_ERROR_INVALID_DEVICE;
    return tell(resource, number_of(type), DeviceId(static_cast<std::uint64_t>(device)), whole(machine));
  });
}

CUresult cuCtxGetDevResource(CUcontext handle, CUdevResource* resource, CUdevResourceType type) {
  return with_machine(
      [&](Machine& machine) { return tell_of(machine, machine.contexts.find(handle), resource, number_of(type)); });
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource* resource, CUdevResourceType type) {
  return with_machine([&](Machine& machine) {
    Context* const context = machine.contexts.find(reinterpret_cast<CUcontext>(handle));
    return tell_of(machine, context, resource, number_of(type));
  });
}

CUresult cuStreamGetDevResource(CUstream stream, CUdevResource* resource, CUdevResourceType type) {
  return in_context([&](Machine& machine, Context& current) -> CUresult {
    SOFTCUDA_TRY(machine.streams.resolve(stream).status());
    const auto known = machine.streams.find(stream);
    return tell_of(machine, known ? known->context : &current, resource, number_of(type));
  });
}

// Groups of equal size.
CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* groups, const CUdevResource* input,
                                     CUdevResource* remaining, unsigned flags, unsigned least) {
  return with_machine([&](Machine&) -> CUresult {
    constexpr unsigned kAll =
        CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
    if (groups == nullptr || input == nullptr || (flags & ~kAll) != 0) return CUDA_ERROR_INVALID_VALUE;
    DeviceId device;
    const unsigned count = to_divide(input, device);
    if (count == 0) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (least > count) return CUDA_ERROR_INVALID_VALUE;
    const bool fine = (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) != 0;
    const unsigned unit = fine ? std::min(count, kFine) : group_unit(count);
    const unsigned size = std::max((least + unit - 1) / unit * unit, unit);
    const unsigned most = count / size;
    if (most == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    *groups = result == nullptr ? most : std::min(*groups, most);
    for (unsigned i = 0; result != nullptr && i < *groups; ++i) {
      result[i] = std::bit_cast<CUdevResource>(multiprocessors_of(device, size, unit));
    }
    give_rest(remaining, device, count - *groups * size, unit);
    return CUDA_SUCCESS;
  });
}

// Groups by individual requests, in order; the size of each is returned in `params`.
CUresult cuDevSmResourceSplit(CUdevResource* result, unsigned groups, const CUdevResource* input,
                              CUdevResource* remainder, unsigned flags, CU_DEV_SM_RESOURCE_GROUP_PARAMS* params) {
  return with_machine([&](Machine&) -> CUresult {
    if (input == nullptr || params == nullptr || groups == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    DeviceId device;
    const unsigned count = to_divide(input, device);
    if (count == 0) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    unsigned left = count;
    for (unsigned i = 0; i < groups; ++i) {
      const unsigned together = params[i].coscheduledSmCount;
      if ((params[i].flags & ~unsigned{TESSERA_RESOURCE_BACKFILL}) != 0 || together > kMostCoscheduled) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      const unsigned unit = together != 0 ? together : group_unit(count);
      const unsigned size = group_of(params[i], unit, left);
      const bool usable = size >= (params[i].flags != 0 ? std::min(kFine, unit) : unit);
      const bool only_asked = result == nullptr && params[i].smCount == 0;
      if (!usable && !only_asked) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
      params[i].smCount = size;
      left -= size;
      if (result != nullptr) result[i] = std::bit_cast<CUdevResource>(multiprocessors_of(device, size, unit));
    }
    give_rest(remainder, device, left, std::min(kFine, count));
    return CUDA_SUCCESS;
  });
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* description, CUdevResource* resources, unsigned count) {
  return with_machine([&](Machine& machine) -> CUresult {
    if (description == nullptr || resources == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    GreenShares::Described made;
    for (unsigned i = 0; i < count; ++i) {
      const auto resource = std::bit_cast<TesseraDevResource>(resources[i]);
      DeviceId device;
      if (!is_of(resource, device)) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
      if (i != 0 && device != made.device) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
      made.device = device;
      GreenShare& share = made.share;
      if (resource.type == CU_DEV_RESOURCE_TYPE_SM) {
        const auto& part = resource.of.sm;
        const bool alike = share.alignment == 0 || share.alignment == part.alignment;
        share.alignment = part.alignment;
        share.multiprocessors += part.count;
        const bool there = share.multiprocessors <= machine.environment.multiprocessors;
        if (!alike || !there) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
      } else if (resource.type == TESSERA_RESOURCE_QUEUE_SETTINGS) {
        share.queue_limit = resource.of.queues.limit;
        share.queue_scope = resource.of.queues.scope;
      } else if (resource.type != TESSERA_RESOURCE_QUEUES) {
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
      }
    }
    const GreenShare all = whole(machine);
    if (made.share.multiprocessors == 0) made.share.multiprocessors = all.multiprocessors;
    if (made.share.alignment == 0) made.share.alignment = all.alignment;
    *description = machine.green_shares.describe(made);
    return CUDA_SUCCESS;
  });
}
