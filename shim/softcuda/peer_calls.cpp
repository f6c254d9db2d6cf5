// Peer access between devices.
//
// The devices of a software machine share its address space, so any device can be a peer of any other; only the enabled
// pairs are recorded. Kernels are not prevented from accessing a peer that was not enabled.
#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

// Calls body() for two devices of the machine.
template <class Body>
CUresult between(CUdevice device, CUdevice peer, Body&& body) {
  return with_machine([&](Machine& machine) -> CUresult {
    const int devices = machine.environment.devices;
    const bool known = device >= 0 && device < devices && peer >= 0 && peer < devices;
    return known ? body() : CUDA_ERROR_INVALID_DEVICE;
  });
}

// Calls body(machine, context, peer) for the current context and a live one of another device.
template <class Body>
CUresult towards(CUcontext handle, Body&& body) {
  return in_context([&](Machine& machine, Context& context) -> CUresult {
    Context* const peer = machine.contexts.find(handle);
    if (peer == nullptr || !peer->alive || peer == &context) return CUDA_ERROR_INVALID_CONTEXT;
    return body(machine, context, *peer);
  });
}

}  // namespace

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return between(device, peer, [&] {
    if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *can = device != peer ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice device, CUdevice peer) {
  return between(device, peer, [&] {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (device == peer) return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
      case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED: *value = 1; return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
      case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED: *value = 0; return CUDA_SUCCESS;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
  return towards(handle, [&](Machine& machine, Context& context, Context& peer) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (context.device == peer.device) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    return machine.contexts.enable_peer(&context, &peer) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
  return towards(handle, [](Machine& machine, Context& context, Context& peer) {
    return machine.contexts.disable_peer(&context, &peer) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  });
}
