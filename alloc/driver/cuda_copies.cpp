// Copies between device and host memory, single or batched.
#include <vector>

#include "driver/cuda_context.hpp"
#include "driver/cuda_driver.hpp"
#include "driver/cuda_symbols.hpp"

namespace tessera {
namespace {

CUstream stream_of(StreamId stream) { return reinterpret_cast<CUstream>(stream.value()); }

CUdeviceptr unified(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }

}  // namespace

Status CudaDriver::copy_in(Address to, const void* from, Bytes bytes, StreamId stream) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuMemcpyHtoDAsync(to.value(), from, bytes.value(), stream_of(stream)),
                     "cuMemcpyHtoDAsync");
}

Status CudaDriver::copy_out(void* to, Address from, Bytes bytes, StreamId stream) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuMemcpyDtoHAsync(to, from.value(), bytes.value(), stream_of(stream)),
                     "cuMemcpyDtoHAsync");
}

// The source is read in stream order, and by copy engines where the driver has the choice: kernels run meanwhile.
Status CudaDriver::copy_all(CopyWay way, std::span<const HostCopy> copies, StreamId stream) {
  const auto call = symbols_->copy_batch;
  const auto first_form = symbols_->first_copy_batch;
  if (call == nullptr && first_form == nullptr) {
    return Status(Code::kNotSupported, "the CUDA driver has no cuMemcpyBatchAsync");
  }
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  std::vector<CUdeviceptr> to, from;
  std::vector<std::size_t> sizes;
  for (const HostCopy& copy : copies) {
    const bool in = way == CopyWay::kIn;
    to.push_back(in ? copy.device.value() : unified(copy.host));
    from.push_back(in ? unified(copy.host) : copy.device.value());
    sizes.push_back(copy.bytes.value());
  }
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  attributes.flags = CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE;
  std::size_t from_first = 0, refused = 0;
  const CUresult result = call != nullptr ? call(to.data(), from.data(), sizes.data(), sizes.size(), &attributes,
                                                 &from_first, 1, stream_of(stream))
                                          : first_form(to.data(), from.data(), sizes.data(), sizes.size(), &attributes,
                                                       &from_first, 1, &refused, stream_of(stream));
  return cuda_status(*symbols_, result, "cuMemcpyBatchAsync");
}

// Either end may be memory of another device, with access for the stream's device and perhaps for no other.
Status CudaDriver::copy(Address to, Address from, Bytes bytes, StreamId stream) {
  const CudaScope scope(*symbols_, *contexts_, stream);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuMemcpyDtoDAsync(to.value(), from.value(), bytes.value(), stream_of(stream)),
                     "cuMemcpyDtoDAsync");
}

}  // namespace tessera
