#include "driver/cuda_driver.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include <fmt/core.h>

#include "base/backoff.hpp"
#include "driver/cuda_context.hpp"
#include "driver/cuda_symbols.hpp"

namespace tessera {
namespace {

CUstream handle(StreamId stream) { return reinterpret_cast<CUstream>(stream.value()); }
CUevent handle(EventId event) { return reinterpret_cast<CUevent>(event.value()); }

StreamId id_of(CUstream stream) { return StreamId(reinterpret_cast<std::uint64_t>(stream)); }
EventId id_of(CUevent event) { return EventId(reinterpret_cast<std::uint64_t>(event)); }

int attribute_of(const CudaSymbols& cuda, CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  return cuda.cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

// Operations that a stream holds (docs/realism.md).
constexpr std::size_t kQueueDepth = 1024;

template <class Ask>
Status ask_until(Nanoseconds limit, Ask ask) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit.value());
  for (Backoff backoff;; backoff.pause()) {
    Status status = ask();
    if (status.code() != Code::kNotReady || std::chrono::steady_clock::now() >= end) return status;
  }
}

std::string uuid_of(const CudaSymbols& cuda, CUdevice device) {
  CUuuid uuid{};
  if (cuda.cuDeviceGetUuid == nullptr || cuda.cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS) return "";
  if (std::ranges::all_of(uuid.bytes, [](char byte) { return byte == 0; })) return "";
  std::string text;
  for (const char byte : uuid.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace

Result<std::unique_ptr<CudaDriver>> CudaDriver::open(const CudaResolver& resolver) {
  TESSERA_TRY_ASSIGN(CudaSymbols found, CudaSymbols::find(resolver));
  auto symbols = std::make_unique<CudaSymbols>(found);
  const Status started = cuda_status(*symbols, symbols->cuInit(0), "cuInit");
  if (!started.is_ok()) return Status(Code::kNotSupported, std::string(started.message()));
  int count = 0;
  TESSERA_TRY(cuda_status(*symbols, symbols->cuDeviceGetCount(&count), "cuDeviceGetCount"));
  std::vector<std::unique_ptr<Device>> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    TESSERA_TRY_ASSIGN(auto device, describe(*symbols, ordinal));
    devices.push_back(std::move(device));
  }
  return std::unique_ptr<CudaDriver>(new CudaDriver(std::move(symbols), std::move(devices)));
}

Result<std::unique_ptr<CudaDriver::Device>> CudaDriver::describe(const CudaSymbols& cuda, int ordinal) {
  auto described = std::make_unique<Device>();
  DeviceProperties& properties = described->properties;
  CUdevice device = 0;
  TESSERA_TRY(cuda_status(cuda, cuda.cuDeviceGet(&device, ordinal), "cuDeviceGet"));
  std::array<char, 128> name{};
  TESSERA_TRY(cuda_status(cuda, cuda.cuDeviceGetName(name.data(), static_cast<int>(name.size() - 1), device),
                          "cuDeviceGetName"));
  properties.name = name.data();
  std::size_t total = 0;
  TESSERA_TRY(cuda_status(cuda, cuda.cuDeviceTotalMem(&total, device), "cuDeviceTotalMem"));
  properties.total_memory = Bytes(total);
  properties.uuid = uuid_of(cuda, device);
  properties.queue_depth = kQueueDepth;
  properties.virtual_memory =
      cuda.virtual_memory() && attribute_of(cuda, device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) != 0;
  if (!properties.virtual_memory) return described;
  int node = -1;
  if (cuda.cuDeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, device) == CUDA_SUCCESS && node >= 0) {
    properties.host_node = static_cast<unsigned>(node);
  }
  described->numa_node = static_cast<int>(properties.host_node.value_or(0));
  described->rdma_capable =
      attribute_of(cuda, device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED) != 0;
  described->shareable =
      attribute_of(cuda, device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) != 0;
  return described;
}

CudaDriver::CudaDriver(std::unique_ptr<CudaSymbols> symbols, std::vector<std::unique_ptr<Device>> devices)
    : symbols_(std::move(symbols)),
      devices_(std::move(devices)),
      contexts_(std::make_unique<CudaContexts>(*symbols_, devices_.size())) {}

CudaDriver::~CudaDriver() = default;

Status CudaDriver::check_exists(DeviceId device) const {
  if (device.value() < devices_.size()) return {};
  return Status(Code::kInvalidArgument, "no CUDA device " + std::to_string(device.value()));
}

int CudaDriver::device_count() { return static_cast<int>(devices_.size()); }

Result<MemoryInfo> CudaDriver::memory_info(DeviceId device) {
  TESSERA_TRY(check_exists(device));
  const CudaScope scope(*symbols_, *contexts_, device);
  TESSERA_TRY(scope.status());
  std::size_t free = 0;
  std::size_t total = 0;
  TESSERA_TRY(cuda_status(*symbols_, symbols_->cuMemGetInfo(&free, &total), "cuMemGetInfo"));
  cuuint64_t graphs = 0;
  if (symbols_->cuDeviceGetGraphMemAttribute != nullptr &&
      symbols_->cuDeviceGetGraphMemAttribute(static_cast<CUdevice>(device.value()), CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
                                             &graphs) != CUDA_SUCCESS) {
    graphs = 0;  // informational: left out if not available
  }
  return MemoryInfo{Bytes(free), Bytes(total), Bytes(graphs)};
}

Status CudaDriver::synchronize(DeviceId device) {
  TESSERA_TRY(check_exists(device));
  {
    const CudaScope scope(*symbols_, *contexts_, device);
    TESSERA_TRY(scope.status());
    TESSERA_TRY(cuda_status(*symbols_, symbols_->cuCtxSynchronize(), "cuCtxSynchronize"));
  }
  // The caller's context may be another one of this device than that of our own streams.
  TESSERA_TRY_ASSIGN(const CUcontext adopted, contexts_->adopted(device));
  const CudaScope scope(*symbols_, adopted);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuCtxSynchronize(), "cuCtxSynchronize");
}

Status CudaDriver::synchronize(DeviceId device, Nanoseconds limit) {
  TESSERA_TRY(check_exists(device));
  if (symbols_->record_context == nullptr) return synchronize(device);
  TESSERA_TRY_ASSIGN(const CUcontext wanted, contexts_->wanted_for(device));
  TESSERA_TRY_ASSIGN(const CUcontext adopted, contexts_->adopted(device));
  if (wanted == nullptr) {  // as above
    CUcontext current = nullptr;
    TESSERA_TRY(cuda_status(*symbols_, symbols_->cuCtxGetCurrent(&current), "cuCtxGetCurrent"));
    if (current != adopted) TESSERA_TRY(synchronize(current, limit));
  }
  return synchronize(adopted, limit);
}

Status CudaDriver::synchronize(CUcontext context, Nanoseconds limit) {
  const CudaScope scope(*symbols_, context);
  TESSERA_TRY(scope.status());
  CUevent event = nullptr;
  TESSERA_TRY(cuda_status(*symbols_, symbols_->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate"));
  const CUresult recorded = symbols_->record_context(context, event);
  Status status = cuda_status(*symbols_, recorded, "cuCtxRecordEvent");
  if (recorded == CUDA_ERROR_NOT_SUPPORTED) {
    status = cuda_status(*symbols_, symbols_->cuCtxSynchronize(), "cuCtxSynchronize");
  } else if (status.is_ok()) {
    status = ask_until(limit, [&] { return cuda_status(*symbols_, symbols_->cuEventQuery(event), "cuEventQuery"); });
  }
  const Status destroyed = cuda_status(*symbols_, symbols_->cuEventDestroy(event), "cuEventDestroy");
  return status.is_ok() ? destroyed : status;
}

// ---- host memory -------------------------------------------------------------------------------

Status CudaDriver::register_host(void* host, Bytes bytes) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuMemHostRegister(host, bytes.value(), CU_MEMHOSTREGISTER_PORTABLE),
                     "cuMemHostRegister");
}

Status CudaDriver::unregister_host(void* host) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuMemHostUnregister(host), "cuMemHostUnregister");
}

// ---- streams and events ------------------------------------------------------------------------

Result<StreamId> CudaDriver::create_stream(DeviceId device) {
  TESSERA_TRY(check_exists(device));
  TESSERA_TRY_ASSIGN(const CUcontext adopted, contexts_->adopted(device));
  const CudaScope scope(*symbols_, adopted);
  TESSERA_TRY(scope.status());
  CUstream stream = nullptr;
  TESSERA_TRY(cuda_status(*symbols_, symbols_->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  return id_of(stream);
}

Status CudaDriver::destroy_stream(StreamId stream) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuStreamDestroy(handle(stream)), "cuStreamDestroy");
}

Status CudaDriver::synchronize(StreamId stream) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuStreamSynchronize(handle(stream)), "cuStreamSynchronize");
}

Status CudaDriver::wait_event(StreamId stream, EventId event) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuStreamWaitEvent(handle(stream), handle(event), CU_EVENT_WAIT_DEFAULT),
                     "cuStreamWaitEvent");
}

Result<EventId> CudaDriver::create_event(DeviceId device) { return make_event(device, CU_EVENT_DISABLE_TIMING); }

Result<EventId> CudaDriver::create_timed_event(DeviceId device) { return make_event(device, CU_EVENT_DEFAULT); }

Result<EventId> CudaDriver::make_event(DeviceId device, unsigned flags) {
  TESSERA_TRY(check_exists(device));
  TESSERA_TRY_ASSIGN(const CUcontext adopted, contexts_->adopted(device));
  const CudaScope scope(*symbols_, adopted);
  TESSERA_TRY(scope.status());
  CUevent event = nullptr;
  TESSERA_TRY(cuda_status(*symbols_, symbols_->cuEventCreate(&event, flags), "cuEventCreate"));
  return id_of(event);
}

Status CudaDriver::destroy_event(EventId event) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuEventDestroy(handle(event)), "cuEventDestroy");
}

Status CudaDriver::record_event(EventId event, StreamId stream) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  const CUresult result = symbols_->cuEventRecord(handle(event), handle(stream));
  const Status status = cuda_status(*symbols_, result, "cuEventRecord");
  const bool dead = result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return dead ? Status(Code::kNotFound, std::string(status.message())) : status;
}

Status CudaDriver::query(EventId event) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuEventQuery(handle(event)), "cuEventQuery");
}

Status CudaDriver::synchronize(EventId event) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuEventSynchronize(handle(event)), "cuEventSynchronize");
}

// CUDA has no wait with a limit, so these poll.
Status CudaDriver::synchronize(EventId event, Nanoseconds limit) {
  return ask_until(limit, [&] { return query(event); });
}

Status CudaDriver::synchronize(StreamId stream, Nanoseconds limit) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return ask_until(limit,
                   [&] { return cuda_status(*symbols_, symbols_->cuStreamQuery(handle(stream)), "cuStreamQuery"); });
}

Result<std::int64_t> CudaDriver::elapsed(EventId start, EventId end) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  float milliseconds = 0;
  TESSERA_TRY(cuda_status(*symbols_, symbols_->cuEventElapsedTime(&milliseconds, handle(start), handle(end)),
                          "cuEventElapsedTime"));
  return static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
}

// ---- work --------------------------------------------------------------------------------------

Status CudaDriver::fill(Address to, std::uint8_t value, Bytes bytes, StreamId stream) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  return cuda_status(*symbols_, symbols_->cuMemsetD8Async(to.value(), value, bytes.value(), handle(stream)),
                     "cuMemsetD8Async");
}

Status CudaDriver::launch(const Launch& launch, StreamId stream) {
  const CudaScope scope(*symbols_, *contexts_);
  TESSERA_TRY(scope.status());
  std::size_t bytes = launch.parameters.size();
  std::array<void*, 5> extra{CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::byte*>(launch.parameters.data()),
                             CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  const auto function = reinterpret_cast<CUfunction>(const_cast<void*>(launch.kernel));
  return cuda_status(
      *symbols_,
      symbols_->cuLaunchKernel(function, launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x, launch.block.y,
                               launch.block.z, launch.shared_bytes, handle(stream), nullptr, extra.data()),
      "cuLaunchKernel");
}

}  // namespace tessera
