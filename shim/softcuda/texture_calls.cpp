// cuTexObject* and cuSurfObject*.
#include "call.hpp"
#include "transfer.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

constexpr std::uint64_t kTextureAlignment = 512;  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT
constexpr std::uint64_t kPitchAlignment = 32;     // CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT

CUresult check_memory(Machine& machine, CUdeviceptr address, std::uint64_t bytes) {
  const auto range = machine.ranges.find(Address(address));
  if (bytes == 0 || address % kTextureAlignment != 0 || !range) return CUDA_ERROR_INVALID_VALUE;
  const bool whole = range->kind == RangeKind::kReservation ? is_mapped(machine, Address(address), Bytes(bytes))
                                                            : range->contains(Address(address), Bytes(bytes));
  return whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_resource(Machine& machine, const CUDA_RESOURCE_DESC& resource) {
  if (resource.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      return machine.arrays.find(resource.res.array.hArray) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      return machine.arrays.find(resource.res.mipmap.hMipmappedArray) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_RESOURCE_TYPE_LINEAR: {
      const auto& linear = resource.res.linear;
      if (element_bytes(linear.format, linear.numChannels) == 0) return CUDA_ERROR_INVALID_VALUE;
      return check_memory(machine, linear.devPtr, linear.sizeInBytes);
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& rows = resource.res.pitch2D;
      const std::uint64_t element = element_bytes(rows.format, rows.numChannels);
      const bool fits = element != 0 && rows.width != 0 && rows.height != 0 &&
                        rows.pitchInBytes % kPitchAlignment == 0 && rows.width * element <= rows.pitchInBytes;
      if (!fits) return CUDA_ERROR_INVALID_VALUE;
      return check_memory(machine, rows.devPtr, rows.pitchInBytes * (rows.height - 1) + rows.width * element);
    }
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// Calls body(texture).
CUresult on_texture(CUtexObject object, const void* target, auto&& body) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto texture = machine.textures.find_texture(object);
    return texture && target != nullptr ? body(*texture) : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace

CUresult cuTexObjectCreate(CUtexObject* object, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* texture,
                           const CUDA_RESOURCE_VIEW_DESC* view) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    if (object == nullptr || resource == nullptr || texture == nullptr) return CUDA_ERROR_INVALID_VALUE;
    SOFTCUDA_TRY(check_resource(machine, *resource));
    const bool of_array =
        resource->resType == CU_RESOURCE_TYPE_ARRAY || resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    if (view != nullptr && !of_array) return CUDA_ERROR_INVALID_VALUE;
    Texture made{*resource, *texture, {}};
    if (view != nullptr) made.view = *view;
    *object = machine.textures.add(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuTexObjectDestroy(CUtexObject object) {
  return in_context([&](Machine& machine, Context&) {
    return machine.textures.remove_texture(object) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUtexObject object) {
  return on_texture(object, resource,
                    [&](const Texture& texture) { return *resource = texture.resource, CUDA_SUCCESS; });
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* description, CUtexObject object) {
  return on_texture(object, description,
                    [&](const Texture& texture) { return *description = texture.texture, CUDA_SUCCESS; });
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* view, CUtexObject object) {
  return on_texture(object, view, [&](const Texture& texture) {
    if (!texture.view) return CUDA_ERROR_INVALID_VALUE;
    *view = *texture.view;
    return CUDA_SUCCESS;
  });
}

// Only arrays created with surface support can be written through surfaces.
CUresult cuSurfObjectCreate(CUsurfObject* object, const CUDA_RESOURCE_DESC* resource) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    if (object == nullptr || resource == nullptr || resource->resType != CU_RESOURCE_TYPE_ARRAY) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    SOFTCUDA_TRY(check_resource(machine, *resource));
    const auto array = machine.arrays.find(resource->res.array.hArray);
    if ((array->shape.Flags & CUDA_ARRAY3D_SURFACE_LDST) == 0) return CUDA_ERROR_INVALID_VALUE;
    *object = machine.textures.add(*resource);
    return CUDA_SUCCESS;
  });
}

CUresult cuSurfObjectDestroy(CUsurfObject object) {
  return in_context([&](Machine& machine, Context&) {
    return machine.textures.remove_surface(object) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUsurfObject object) {
  return in_context([&](Machine& machine, Context&) {
    const auto known = machine.textures.find_surface(object);
    if (!known || resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *resource = *known;
    return CUDA_SUCCESS;
  });
}
