#include "boxes.hpp"

#include "call.hpp"
#include "capture.hpp"

namespace tessera::softcuda {
namespace {

// One end of a copy.
struct Side {
  Place first;  // of its first row
  std::uint64_t pitch = 0;
  std::uint64_t slice = 0;
};

CUmemorytype type_of(Place place) { return place.end == End::kDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED; }

CUresult read_array(CUarray handle, std::uint64_t x, std::uint64_t y, std::uint64_t z, const CUDA_MEMCPY3D& copy,
                    Side& side) {
  Machine* const machine = Machine::get();
  const auto array = machine != nullptr ? machine->arrays.find(handle) : std::nullopt;
  if (!array) return CUDA_ERROR_INVALID_HANDLE;
  const bool inside =
      x + copy.WidthInBytes <= array->pitch() && y + copy.Height <= array->rows() && z + copy.Depth <= array->slices();
  if (!inside) return CUDA_ERROR_INVALID_VALUE;
  side.pitch = array->pitch();
  side.slice = side.pitch * array->rows();
  side.first = {array->base.value() + z * side.slice + y * side.pitch + x, End::kDevice};
  return CUDA_SUCCESS;
}

CUresult read_side(CUmemorytype type, CUarray array, const void* host, CUdeviceptr device, std::uint64_t pitch,
                   std::uint64_t rows, std::uint64_t x, std::uint64_t y, std::uint64_t z, const CUDA_MEMCPY3D& copy,
                   Side& side) {
  if (type == CU_MEMORYTYPE_ARRAY) return read_array(array, x, y, z, copy, side);
  const bool on_host = type == CU_MEMORYTYPE_HOST;
  if (!on_host && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  side.pitch = pitch == 0 ? copy.WidthInBytes : pitch;
  side.slice = side.pitch * (rows == 0 ? copy.Height : rows);
  if (x + copy.WidthInBytes > side.pitch) return CUDA_ERROR_INVALID_VALUE;
  if (copy.Depth > 1 && rows != 0 && y + copy.Height > rows) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t base = on_host ? reinterpret_cast<std::uint64_t>(host) : device;
  side.first = {base + z * side.slice + y * side.pitch + x, type == CU_MEMORYTYPE_DEVICE ? End::kDevice : End::kAny};
  return base == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult read_sides(const CUDA_MEMCPY3D& copy, Side& to, Side& from) {
  SOFTCUDA_TRY(read_side(copy.dstMemoryType, copy.dstArray, copy.dstHost, copy.dstDevice, copy.dstPitch, copy.dstHeight,
                         copy.dstXInBytes, copy.dstY, copy.dstZ, copy, to));
  return read_side(copy.srcMemoryType, copy.srcArray, copy.srcHost, copy.srcDevice, copy.srcPitch, copy.srcHeight,
                   copy.srcXInBytes, copy.srcY, copy.srcZ, copy, from);
}

bool is_empty(const CUDA_MEMCPY3D& copy) { return copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0; }

CUresult copy_slice(Machine& machine, const CUDA_MEMCPY3D& copy, Side to, Side from, StreamId stream) {
  if (to.pitch == copy.WidthInBytes && from.pitch == copy.WidthInBytes) {
    return copy_bytes(machine, to.first, from.first, copy.WidthInBytes * copy.Height, stream);
  }
  for (std::size_t row = 0; row < copy.Height; ++row) {
    SOFTCUDA_TRY(copy_bytes(machine, to.first, from.first, copy.WidthInBytes, stream));
    to.first.address += to.pitch;
    from.first.address += from.pitch;
  }
  return CUDA_SUCCESS;
}

bool is_memory(Machine& machine, const CUDA_MEMCPY3D& copy, CUmemorytype type, const Side& side) {
  if (type == CU_MEMORYTYPE_HOST) return true;
  const std::uint64_t bytes = (copy.Depth - 1) * side.slice + (copy.Height - 1) * side.pitch + copy.WidthInBytes;
  return is_memory(machine, side.first, Bytes(bytes));
}

bool is_device_memory(Machine& machine, const Side& side) {
  const Address address(side.first.address);
  const auto range = machine.ranges.find(address);
  if (!range || range->kind != RangeKind::kReservation) return false;
  const auto mapping = machine.driver.mapping_at(address);
  return !mapping || mapping->frame.location != FrameLocation::kHost;
}

// Gives ends of unknown kind a kind.
CUresult record_box(Machine& machine, CUDA_MEMCPY3D& copy) {
  Side to, from;
  SOFTCUDA_TRY(read_sides(copy, to, from));
  if (!is_memory(machine, copy, copy.dstMemoryType, to)) {
    if (copy.dstMemoryType != CU_MEMORYTYPE_UNIFIED) return CUDA_ERROR_INVALID_VALUE;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = reinterpret_cast<void*>(copy.dstDevice);
  }
  if (!is_memory(machine, copy, copy.srcMemoryType, from)) {
    if (copy.srcMemoryType != CU_MEMORYTYPE_UNIFIED) return CUDA_ERROR_INVALID_VALUE;
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = reinterpret_cast<const void*>(copy.srcDevice);
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUDA_MEMCPY3D box_of(Place to, Place from, std::uint64_t bytes) {
  CUDA_MEMCPY3D box{};
  box.dstMemoryType = type_of(to);
  box.dstDevice = to.address;
  box.srcMemoryType = type_of(from);
  box.srcDevice = from.address;
  box.dstPitch = box.srcPitch = box.WidthInBytes = bytes;
  box.Height = box.Depth = 1;
  return box;
}

CUDA_MEMCPY3D box_of(const CUDA_MEMCPY2D& copy) {
  CUDA_MEMCPY3D box{};
  box.srcXInBytes = copy.srcXInBytes;
  box.srcY = copy.srcY;
  box.srcMemoryType = copy.srcMemoryType;
  box.srcHost = copy.srcHost;
  box.srcDevice = copy.srcDevice;
  box.srcArray = copy.srcArray;
  box.srcPitch = copy.srcPitch;
  box.dstXInBytes = copy.dstXInBytes;
  box.dstY = copy.dstY;
  box.dstMemoryType = copy.dstMemoryType;
  box.dstHost = copy.dstHost;
  box.dstDevice = copy.dstDevice;
  box.dstArray = copy.dstArray;
  box.dstPitch = copy.dstPitch;
  box.WidthInBytes = copy.WidthInBytes;
  box.Height = copy.Height;
  box.Depth = 1;
  return box;
}

CUDA_MEMCPY3D box_of(const CUDA_MEMCPY3D_PEER& copy) {
  CUDA_MEMCPY3D box{};
  box.srcXInBytes = copy.srcXInBytes;
  box.srcY = copy.srcY;
  box.srcZ = copy.srcZ;
  box.srcMemoryType = copy.srcMemoryType;
  box.srcHost = copy.srcHost;
  box.srcDevice = copy.srcDevice;
  box.srcArray = copy.srcArray;
  box.srcPitch = copy.srcPitch;
  box.srcHeight = copy.srcHeight;
  box.dstXInBytes = copy.dstXInBytes;
  box.dstY = copy.dstY;
  box.dstZ = copy.dstZ;
  box.dstMemoryType = copy.dstMemoryType;
  box.dstHost = copy.dstHost;
  box.dstDevice = copy.dstDevice;
  box.dstArray = copy.dstArray;
  box.dstPitch = copy.dstPitch;
  box.dstHeight = copy.dstHeight;
  box.WidthInBytes = copy.WidthInBytes;
  box.Height = copy.Height;
  box.Depth = copy.Depth;
  return box;
}

CUresult check_box(const CUDA_MEMCPY3D& copy) {
  Side to, from;
  return is_empty(copy) ? CUDA_SUCCESS : read_sides(copy, to, from);
}

CUresult copy_box(Machine& machine, const CUDA_MEMCPY3D& copy, StreamId stream) {
  if (is_empty(copy)) return CUDA_SUCCESS;
  Side to, from;
  SOFTCUDA_TRY(read_sides(copy, to, from));
  for (std::size_t slice = 0; slice < copy.Depth; ++slice) {
    SOFTCUDA_TRY(copy_slice(machine, copy, to, from, stream));
    to.first.address += to.slice;
    from.first.address += from.slice;
  }
  return CUDA_SUCCESS;
}

CUresult check_memory(Machine& machine, const CUDA_MEMCPY3D& copy) {
  if (is_empty(copy)) return CUDA_SUCCESS;
  Side to, from;
  SOFTCUDA_TRY(read_sides(copy, to, from));
  const bool all =
      is_memory(machine, copy, copy.dstMemoryType, to) && is_memory(machine, copy, copy.srcMemoryType, from);
  return all ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

std::optional<CUresult> capture_box(Machine& machine, CUDA_MEMCPY3D copy, StreamId stream) {
  bool captured = false;
  SOFTCUDA_TRY(machine.captures.look_at(stream, [&](const auto&, const auto&) {
    captured = true;
    return CUDA_SUCCESS;
  }));
  if (!captured) return std::nullopt;
  if (!is_empty(copy)) SOFTCUDA_TRY(record_box(machine, copy));
  return machine.captures.capture(stream, [&] { return CopyWork{copy}; });
}

CUresult copy_recorded_box(Machine& machine, const CUDA_MEMCPY3D& copy, StreamId stream) {
  if (is_empty(copy)) return CUDA_SUCCESS;
  Side to, from;
  SOFTCUDA_TRY(read_sides(copy, to, from));
  if (copy.dstMemoryType == CU_MEMORYTYPE_HOST && is_device_memory(machine, to)) return CUDA_ERROR_INVALID_VALUE;
  if (copy.srcMemoryType == CU_MEMORYTYPE_HOST && is_device_memory(machine, from)) return CUDA_ERROR_INVALID_VALUE;
  return copy_box(machine, copy, stream);
}

CUresult check_rows(const CUDA_MEMSET_NODE_PARAMS& fill) {
  const unsigned element = fill.elementSize;
  if (element != 1 && element != 2 && element != 4) return CUDA_ERROR_INVALID_VALUE;
  if (fill.dst == 0 || fill.dst % element != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool overlap = fill.height > 1 && fill.pitch < fill.width * element;
  return overlap ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult check_memory(Machine& machine, const CUDA_MEMSET_NODE_PARAMS& fill) {
  if (fill.width == 0 || fill.height == 0) return CUDA_SUCCESS;
  const std::uint64_t bytes = (fill.height - 1) * fill.pitch + fill.width * fill.elementSize;
  return is_memory(machine, {fill.dst, End::kDevice}, Bytes(bytes)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult set_rows(Machine& machine, const CUDA_MEMSET_NODE_PARAMS& fill, StreamId stream) {
  CUdeviceptr to = fill.dst;
  for (std::size_t row = 0; row < fill.height; ++row, to += fill.pitch) {
    SOFTCUDA_TRY(set_elements(machine, to, fill.value, fill.elementSize, fill.width, stream));
  }
  return CUDA_SUCCESS;
}

}  // namespace tessera::softcuda
