// The prologue and epilogue of every entry point: checks for a machine, a current context and a sticky error, and
// converts a Status to a CUresult.
//
// Thread safety: stateless.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <type_traits>

#include "base/status.hpp"
#include "cuda_api.hpp"
#include "machine.hpp"

namespace tessera::softcuda {

// The driver's own error number if there is one.
CUresult to_result(const Status& status);
inline CUresult to_result(CUresult result) { return result; }

// Whether this error leaves the context unusable, like a fault on a GPU.
bool sticks(CUresult result);

// Returns from an entry point with the error, if there is one.
#define SOFTCUDA_TRY(expression)                                                                            \
  do {                                                                                                      \
    if (const CUresult try_result = ::tessera::softcuda::to_result(expression); try_result != CUDA_SUCCESS) \
      return try_result;                                                                                    \
  } while (false)

// For calls that need no context. `body(machine)` returns a CUresult or a Status.
template <class Body>
CUresult with_machine(Body&& body) noexcept {
  Machine* const machine = Machine::get();
  if (machine == nullptr) return Machine::without_machine();
  try {
    return to_result(body(*machine));
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception&) {
    return CUDA_ERROR_UNKNOWN;
  }
}

// For calls that work in the current context. `body(machine, context)` returns a CUresult or a Status.
template <class Body>
CUresult in_context(Body&& body) noexcept {
  return with_machine([&](Machine& machine) {
    Context* const context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (const int error = context->sticky; error != 0) return static_cast<CUresult>(error);
    const CUresult result = to_result(body(machine, *context));
    if (sticks(result)) context->sticky = result;
    return result;
  });
}

// `body(machine, device)`, or the error for an unknown device.
template <class Body>
CUresult on_device(CUdevice device, Body&& body) noexcept {
  return with_machine([&](Machine& machine) -> CUresult {
    if (device < 0 || device >= machine.environment.devices) return CUDA_ERROR_INVALID_DEVICE;
    return to_result(body(machine, DeviceId(static_cast<std::uint64_t>(device))));
  });
}

// `body(machine, stream)`, or the error for an unknown stream.
template <class Body>
CUresult on_stream(CUstream stream, Body&& body) noexcept {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    return to_result(body(machine, id.value()));
  });
}

}  // namespace tessera::softcuda
