// Peer access: the answers that a program gets about devices accessing each other's memory.
//
// Blocks are mapped for their own device alone (docs/decisions/0017-no-peers.md), so there is no peer access between
// devices of a program. It gets this answer at any time, even before it has a context or a block, since programs query
// first and enable access later, and enabling is always refused. The program then uses copies, which work.
//
// NCCL's queries are answered by the driver: with one device per process, NCCL reaches other processes through memory
// of another kind (its own), and all of the processes have to get the same answer. If NCCL has ranks on several devices
// of this process, it is told that there are no peers: it queries once, and might access blocks later.
#include <algorithm>
#include <atomic>
#include <span>

#include "cuda_api.hpp"
#include "in_context.hpp"
#include "lifecycle.hpp"
#include "nccl_library.hpp"
#include "nccl_ranks.hpp"
#include "outcome.hpp"
#include "pool_lookup.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

bool are_no_peers(CUdevice device, CUdevice peer, const void* caller) {
  if (device == peer || (lies_in_nccl(caller) && !ranks_share_process())) return false;
  return works_or_will();
}

// Whether the context belongs to another device than the current one.
bool is_of_another_device(CUcontext context) {
  CUdevice own = -1;
  if (call_true(&TrueDriver::cuCtxGetDevice, &own) != CUDA_SUCCESS) return false;
  const CUdevice peer = InContext(context).device();
  return peer >= 0 && own != peer;
}

void say_no_peers() {
  static constinit std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  say("no peer access: kernels can use only blocks of their own device; copies can use blocks of any device");
}

}  // namespace

TESSERA_HOOK cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  const CUresult result = call_true(&TrueDriver::cuDeviceCanAccessPeer, can, device, peer);
  if (result == CUDA_SUCCESS && are_no_peers(device, peer, TESSERA_CALLER)) *can = 0;
  return result;
}

// All attributes except the link's performance rank are about access.
TESSERA_HOOK cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice device, CUdevice peer) {
  const CUresult result = call_true(&TrueDriver::cuDeviceGetP2PAttribute, value, attribute, device, peer);
  if (result == CUDA_SUCCESS && attribute != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK &&
      are_no_peers(device, peer, TESSERA_CALLER)) {
    *value = 0;
  }
  return result;
}

TESSERA_HOOK cuDeviceGetP2PAtomicCapabilities(unsigned* capabilities, const CUatomicOperation* operations,
                                              unsigned count, CUdevice device, CUdevice peer) {
  const CUresult result =
      call_true(&TrueDriver::cuDeviceGetP2PAtomicCapabilities, capabilities, operations, count, device, peer);
  if (result == CUDA_SUCCESS && are_no_peers(device, peer, TESSERA_CALLER)) {
    std::fill_n(capabilities, count, 0U);
  }
  return result;
}

TESSERA_HOOK cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  if (flags == 0 && is_of_another_device(peer) && works_or_will()) {
    say_no_peers();
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  }
  return call_true(&TrueDriver::cuCtxEnablePeerAccess, peer, flags);
}

// A default pool has no access for other devices, nor has a pool with blocks of ours. Any other pool of the program
// becomes the driver's for it.
TESSERA_HOOK cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, std::size_t count) {
  ProgramPool* const known = map != nullptr && works_or_will() ? known_pool(pool) : nullptr;
  const auto gives_access = [known](const CUmemAccessDesc& each) {
    return each.location.type == CU_MEM_LOCATION_TYPE_DEVICE && each.location.id != known->device &&
           each.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
  };
  const std::span wanted(map, known != nullptr ? count : 0);
  if (!std::any_of(wanted.begin(), wanted.end(), gives_access)) {
    return call_true(&TrueDriver::cuMemPoolSetAccess, pool, map, count);
  }
  const bool was_ours = !known->is_default && known->ours.exchange(false);
  if (known->is_default || known->meter.used() != 0) {
    if (was_ours) known->ours.store(true);
    say_no_peers();
    return CUDA_ERROR_INVALID_VALUE;  // the only documented error
  }
  const CUresult result = call_true(&TrueDriver::cuMemPoolSetAccess, pool, map, count);
  if (result != CUDA_SUCCESS && was_ours) known->ours.store(true);
  return result;
}
