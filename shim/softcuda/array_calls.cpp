// cuArray*, cuArray3D*, cuMipmappedArray*, and linear cuMemcpy calls between arrays and other memory.
#include <algorithm>

#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

Result<CUarray> make(Machine& machine, Context& context, const CUDA_ARRAY3D_DESCRIPTOR& shape, bool owned) {
  Array array;
  array.shape = shape;
  array.context = &context;
  array.owned = owned;
  array.element = element_bytes(shape.Format, shape.NumChannels);
  TESSERA_TRY_ASSIGN(array.base, machine.memory.allocate(context, array.bytes(), {}));
  return machine.arrays.add(array);
}

// Queued work may still use the array.
CUresult end(Machine& machine, CUarray handle) {
  SOFTCUDA_TRY(machine.captures.check_safe());
  SOFTCUDA_TRY(machine.finish_all());
  const auto array = machine.arrays.remove(handle);
  return array ? to_result(machine.memory.free(array->base)) : CUDA_ERROR_INVALID_HANDLE;
}

// Calls body(array).
CUresult on_array(CUarray handle, auto&& body) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto array = machine.arrays.find(handle);
    return array ? body(*array) : CUDA_ERROR_INVALID_HANDLE;
  });
}

// One end of a linear copy: an array from a byte offset on, or other memory.
struct LineEnd {
  CUarray array = nullptr;
  std::uint64_t address_or_offset = 0;
  CUmemorytype type = CU_MEMORYTYPE_ARRAY;
};

LineEnd of_array(CUarray array, size_t offset) { return {array, offset, CU_MEMORYTYPE_ARRAY}; }
LineEnd of_device(CUdeviceptr address) { return {nullptr, address, CU_MEMORYTYPE_DEVICE}; }
LineEnd of_host(const void* host) { return {nullptr, reinterpret_cast<std::uint64_t>(host), CU_MEMORYTYPE_UNIFIED}; }

CUDA_MEMCPY3D line(const LineEnd& to, const LineEnd& from, size_t bytes) {
  CUDA_MEMCPY3D box{};
  box.dstMemoryType = to.type;
  box.dstArray = to.array;
  box.srcMemoryType = from.type;
  box.srcArray = from.array;
  if (to.array != nullptr) {
    box.dstXInBytes = to.address_or_offset;
  } else {
    box.dstDevice = to.address_or_offset;
  }
  if (from.array != nullptr) {
    box.srcXInBytes = from.address_or_offset;
  } else {
    box.srcDevice = from.address_or_offset;
  }
  box.WidthInBytes = bytes;
  box.Height = box.Depth = 1;
  return box;
}

CUresult finish_line(const CUDA_MEMCPY3D& box) { return cuMemcpy3D(&box); }

}  // namespace

CUresult cuArray3DCreate(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    if (handle == nullptr || shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
    SOFTCUDA_TRY(machine.captures.check_safe());
    SOFTCUDA_TRY(check_shape(*shape));
    const auto made = make(machine, context, *shape, false);
    if (!made.is_ok()) return to_result(made.status());
    *handle = made.value();
    return CUDA_SUCCESS;
  });
}

CUresult cuArrayCreate(CUarray* handle, const CUDA_ARRAY_DESCRIPTOR* shape) {
  if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR whole{shape->Width, shape->Height, 0, shape->Format, shape->NumChannels, 0};
  return cuArray3DCreate(handle, &whole);
}

CUresult cuArrayDestroy(CUarray handle) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto array = machine.arrays.find(handle);
    return !array || array->owned ? CUDA_ERROR_INVALID_HANDLE : end(machine, handle);
  });
}

CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR* shape, CUarray handle) {
  if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_array(handle, [&](const Array& array) { return *shape = array.shape, CUDA_SUCCESS; });
}

// Drops the depth of a 3D array.
CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR* shape, CUarray handle) {
  if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_array(handle, [&](const Array& array) {
    *shape = {array.shape.Width, array.shape.Height, array.shape.Format, array.shape.NumChannels};
    return CUDA_SUCCESS;
  });
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* handle, const CUDA_ARRAY3D_DESCRIPTOR* shape, unsigned levels) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    if (handle == nullptr || shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
    SOFTCUDA_TRY(machine.captures.check_safe());
    SOFTCUDA_TRY(check_shape(*shape));
    MipmappedArray whole{.shape = *shape, .levels = {}, .context = &context};
    for (unsigned level = 0; level < std::clamp(levels, 1u, most_levels(*shape)); ++level) {
      const auto made = make(machine, context, shape_of_level(*shape, level), true);
      if (!made.is_ok()) {
        for (const CUarray each : whole.levels) SOFTCUDA_TRY(end(machine, each));
        return to_result(made.status());
      }
      whole.levels.push_back(made.value());
    }
    *handle = machine.arrays.add(whole);
    return CUDA_SUCCESS;
  });
}

CUresult cuMipmappedArrayGetLevel(CUarray* array, CUmipmappedArray handle, unsigned level) {
  return in_context([&](Machine& machine, Context&) {
    const auto whole = machine.arrays.find(handle);
    if (!whole) return CUDA_ERROR_INVALID_HANDLE;
    if (array == nullptr || level >= whole->levels.size()) return CUDA_ERROR_INVALID_VALUE;
    *array = whole->levels[level];
    return CUDA_SUCCESS;
  });
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    SOFTCUDA_TRY(machine.captures.check_safe());
    const auto whole = machine.arrays.remove(handle);
    if (!whole) return CUDA_ERROR_INVALID_HANDLE;
    for (const CUarray level : whole->levels) SOFTCUDA_TRY(end(machine, level));
    return CUDA_SUCCESS;
  });
}

// ---- copies ------------------------------------------------------------------------------------

CUresult cuMemcpyDtoA(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
  return finish_line(line(of_array(to, offset), of_device(from), bytes));
}
CUresult cuMemcpyAtoD(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
  return finish_line(line(of_device(to), of_array(from, offset), bytes));
}
CUresult cuMemcpyHtoA(CUarray to, size_t offset, const void* from, size_t bytes) {
  return finish_line(line(of_array(to, offset), of_host(from), bytes));
}
CUresult cuMemcpyAtoH(void* to, CUarray from, size_t offset, size_t bytes) {
  return finish_line(line(of_host(to), of_array(from, offset), bytes));
}
CUresult cuMemcpyAtoA(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes) {
  return finish_line(line(of_array(to, to_offset), of_array(from, from_offset), bytes));
}
CUresult cuMemcpyHtoAAsync(CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream) {
  const CUDA_MEMCPY3D box = line(of_array(to, offset), of_host(from), bytes);
  return cuMemcpy3DAsync(&box, stream);
}
CUresult cuMemcpyAtoHAsync(void* to, CUarray from, size_t offset, size_t bytes, CUstream stream) {
  const CUDA_MEMCPY3D box = line(of_host(to), of_array(from, offset), bytes);
  return cuMemcpy3DAsync(&box, stream);
}
