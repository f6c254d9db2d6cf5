// NCCL's collectives, sends and receives, and the groups that contain them.
//
// Which buffers a rank uses, and how much of them, follows nccl.h: a buffer used only by the root may be any pointer on
// other ranks.
#include <algorithm>
#include <array>
#include <optional>

#include "nccl_work.hpp"
#include "outcome.hpp"

using namespace tessera::preload;

namespace {

// How many times `count` elements of a buffer a rank uses.
enum class Part { kNone, kOne, kAll, kOneOnRoot, kAllOnRoot };

constexpr int kAnyRank = -1;  // no root

struct Buffer {
  const void* address;
  Part part;
};

// 0 for a type newer than this library.
std::size_t bytes_of(NcclType type) {
  // int8, uint8, int32, uint32, int64, uint64, float16, float32, float64, bfloat16, float8 (two of them)
  constexpr std::array<std::size_t, 12> kBytes = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && static_cast<std::size_t>(type) < kBytes.size() ? kBytes[static_cast<std::size_t>(type)] : 0;
}

// Queries a communicator; nothing while it is not ready.
std::optional<int> ask(const TrueNccl& nccl, decltype(&::ncclCommCount) TrueNccl::*question, const NcclComm* comm) {
  int answer = 0;
  const bool told = comm != nullptr && call_nccl(&nccl, question, comm, &answer) == kNcclSuccess;
  return told ? std::optional<int>(answer) : std::nullopt;
}

bool is_on_root(const TrueNccl& nccl, const NcclComm* comm, int root) {
  const std::optional<int> rank = ask(nccl, &TrueNccl::ncclCommUserRank, comm);
  return !rank || *rank == root;
}

// Adds the first and the last used byte of `buffer` if they are managed.
void add_ends(const TrueNccl& nccl, const NcclComm* comm, const Buffer& buffer, std::size_t bytes, int root,
              std::vector<CUdeviceptr>& ends) {
  const auto first = reinterpret_cast<CUdeviceptr>(buffer.address);
  if (buffer.part == Part::kNone || bytes == 0 || !managed(first)) return;
  const bool on_root = buffer.part == Part::kOneOnRoot || buffer.part == Part::kAllOnRoot;
  if (on_root && !is_on_root(nccl, comm, root)) return;
  const bool all = buffer.part == Part::kAll || buffer.part == Part::kAllOnRoot;
  const int times = all ? ask(nccl, &TrueNccl::ncclCommCount, comm).value_or(1) : 1;
  ends.push_back(first);
  ends.push_back(first + bytes * static_cast<std::size_t>(times) - 1);
}

// The buffers of a call.
struct Buffers {
  Buffer sent;
  Buffer received;
  std::size_t count;
  NcclType type;
  int root;
};

// A call from inside NCCL is part of a call that was seen already.
template <class Function, class... Args>
NcclResult work(const void* caller, const Buffers& buffers, NcclComm* comm, CUstream stream,
                Function TrueNccl::*function, Args... args) {
  const TrueNccl* const nccl = nccl_for(caller);
  const auto call = [&] { return call_nccl(nccl, function, args...); };
  if (nccl == nullptr || lies_in_nccl(caller) || running() == nullptr) return call();
  // For an unknown type, at least the first byte.
  const std::size_t each = std::max(bytes_of(buffers.type), std::size_t{1});
  const std::size_t bytes = buffers.count * each;
  std::vector<CUdeviceptr> ends;
  add_ends(*nccl, comm, buffers.sent, bytes, buffers.root, ends);
  add_ends(*nccl, comm, buffers.received, bytes, buffers.root, ends);
  return with_buffers(comm, stream, ends, call);
}

// Makes all calls of the group fail together: NCCL does not know yet that one of them failed.
void spoil_group(const TrueNccl* nccl) {
  (void)call_nccl(nccl, &TrueNccl::ncclAllReduce, nullptr, nullptr, std::size_t{0}, 0, 0, nullptr, nullptr);
}

NcclResult end_group(const TrueNccl* nccl) {
  const auto call = [nccl] { return call_nccl(nccl, &TrueNccl::ncclGroupEnd); };
  std::vector<NcclPiece> pieces;
  bool failed = false;
  if (!NcclGroup::end(pieces, failed)) return call();
  NcclHold hold(std::move(pieces));
  if (failed || hold.status() != CUDA_SUCCESS) {
    spoil_group(nccl);
    (void)call();
    return kNcclCudaError;
  }
  const NcclResult result = call();
  hold.queued(result);
  return result;
}

}  // namespace

// A collective: its parameters up to the communicator, their names, and the parts of both buffers that a rank uses.
// Each exists with and without a per-call configuration.
#define TESSERA_COLLECTIVE(name, sent, received, root, parameters, ...)                                          \
  TESSERA_NCCL_HOOK name(TESSERA_LIST parameters, NcclComm* comm, CUstream stream) {                             \
    const Buffers buffers = {{send, Part::sent}, {receive, Part::received}, count, type, root};                  \
    return work(__builtin_return_address(0), buffers, comm, stream, &TrueNccl::name, __VA_ARGS__, comm, stream); \
  }                                                                                                              \
  TESSERA_NCCL_HOOK name##Config(TESSERA_LIST parameters, NcclComm* comm, CUstream stream,                       \
                                 const NcclCollConfig* config) {                                                 \
    const Buffers buffers = {{send, Part::sent}, {receive, Part::received}, count, type, root};                  \
    return work(__builtin_return_address(0), buffers, comm, stream, &TrueNccl::name##Config, __VA_ARGS__, comm,  \
                stream, config);                                                                                 \
  }
#define TESSERA_LIST(...) __VA_ARGS__

TESSERA_COLLECTIVE(ncclAllReduce, kOne, kOne, kAnyRank,
                   (const void* send, void* receive, std::size_t count, NcclType type, NcclOp op), send, receive, count,
                   type, op)
TESSERA_COLLECTIVE(ncclReduce, kOne, kOneOnRoot, root,
                   (const void* send, void* receive, std::size_t count, NcclType type, NcclOp op, int root), send,
                   receive, count, type, op, root)
TESSERA_COLLECTIVE(ncclBroadcast, kOneOnRoot, kOne, root,
                   (const void* send, void* receive, std::size_t count, NcclType type, int root), send, receive, count,
                   type, root)
TESSERA_COLLECTIVE(ncclAllGather, kOne, kAll, kAnyRank,
                   (const void* send, void* receive, std::size_t count, NcclType type), send, receive, count, type)
TESSERA_COLLECTIVE(ncclReduceScatter, kAll, kOne, kAnyRank,
                   (const void* send, void* receive, std::size_t count, NcclType type, NcclOp op), send, receive, count,
                   type, op)
TESSERA_COLLECTIVE(ncclAlltoAll, kAll, kAll, kAnyRank,
                   (const void* send, void* receive, std::size_t count, NcclType type), send, receive, count, type)
TESSERA_COLLECTIVE(ncclGather, kOne, kAllOnRoot, root,
                   (const void* send, void* receive, std::size_t count, NcclType type, int root), send, receive, count,
                   type, root)
TESSERA_COLLECTIVE(ncclScatter, kAllOnRoot, kOne, root,
                   (const void* send, void* receive, std::size_t count, NcclType type, int root), send, receive, count,
                   type, root)

#undef TESSERA_LIST
#undef TESSERA_COLLECTIVE

TESSERA_NCCL_HOOK ncclBcast(void* buffer, std::size_t count, NcclType type, int root, NcclComm* comm, CUstream stream) {
  const Buffers buffers = {{nullptr, Part::kNone}, {buffer, Part::kOne}, count, type, root};
  return work(__builtin_return_address(0), buffers, comm, stream, &TrueNccl::ncclBcast, buffer, count, type, root, comm,
              stream);
}

TESSERA_NCCL_HOOK ncclSend(const void* send, std::size_t count, NcclType type, int peer, NcclComm* comm,
                           CUstream stream) {
  const Buffers buffers = {{send, Part::kOne}, {nullptr, Part::kNone}, count, type, kAnyRank};
  return work(__builtin_return_address(0), buffers, comm, stream, &TrueNccl::ncclSend, send, count, type, peer, comm,
              stream);
}

TESSERA_NCCL_HOOK ncclRecv(void* receive, std::size_t count, NcclType type, int peer, NcclComm* comm, CUstream stream) {
  const Buffers buffers = {{nullptr, Part::kNone}, {receive, Part::kOne}, count, type, kAnyRank};
  return work(__builtin_return_address(0), buffers, comm, stream, &TrueNccl::ncclRecv, receive, count, type, peer, comm,
              stream);
}

// Its destination is registered, and therefore stays in device memory.
TESSERA_NCCL_HOOK ncclPutSignal(const void* local, std::size_t count, NcclType type, int peer, NcclWindow* window,
                                std::size_t offset, int signal, int context, unsigned flags, NcclComm* comm,
                                CUstream stream) {
  const Buffers buffers = {{local, Part::kOne}, {nullptr, Part::kNone}, count, type, kAnyRank};
  return work(__builtin_return_address(0), buffers, comm, stream, &TrueNccl::ncclPutSignal, local, count, type, peer,
              window, offset, signal, context, flags, comm, stream);
}

TESSERA_NCCL_HOOK ncclGroupStart() {
  const void* const caller = __builtin_return_address(0);
  const NcclResult result = call_nccl(nccl_for(caller), &TrueNccl::ncclGroupStart);
  if (result == kNcclSuccess && !lies_in_nccl(caller)) NcclGroup::begin();
  return result;
}

TESSERA_NCCL_HOOK ncclGroupEnd() {
  const void* const caller = __builtin_return_address(0);
  const TrueNccl* const nccl = nccl_for(caller);
  return lies_in_nccl(caller) ? call_nccl(nccl, &TrueNccl::ncclGroupEnd) : end_group(nccl);
}

// Also ends the group, and queues nothing.
TESSERA_NCCL_HOOK ncclGroupSimulateEnd(NcclSimInfo* info) {
  const void* const caller = __builtin_return_address(0);
  const NcclResult result = call_nccl(nccl_for(caller), &TrueNccl::ncclGroupSimulateEnd, info);
  std::vector<NcclPiece> dropped;
  bool failed = false;
  if (!lies_in_nccl(caller)) (void)NcclGroup::end(dropped, failed);
  return result;
}
