// Work that NCCL queues: its blocks are in device memory until their streams have passed it.
//
// Why: NCCL's kernels find their buffers in a queue in host memory, so no launch shows them; the NCCL call does. A
// single call queues its work before it returns. In a group, the outermost ncclGroupEnd queues all work, so the blocks
// are fetched there, together, and held until all of it is queued: nothing may have to be evicted between the launches
// of one group, since launched kernels wait for those not launched yet. A non-blocking communicator queues its work
// later, on a thread of NCCL's: its blocks are pinned until it reports that it has done so (ncclCommGetAsyncError), or
// ends.
//
// On a capturing stream no use is made. The kernels of the graph do not show their buffers either, so these blocks stay
// in device memory until they are freed, and the statistics report it.
//
// Thread safety: any thread; a group belongs to the thread that began it, as in NCCL.
#pragma once

#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "lifecycle.hpp"
#include "nccl_library.hpp"

namespace tessera::preload {

// A block used by work on a stream.
struct NcclPiece {
  NcclComm* comm;
  int device;  // of the block, and therefore of the stream
  CUstream stream;
  CUdeviceptr block;
};

// Holds the blocks while NCCL queues work on them. The thread must not make other Tessera calls during that time.
class NcclHold {
 public:
  explicit NcclHold(std::vector<NcclPiece> pieces);
  ~NcclHold();
  NcclHold(const NcclHold&) = delete;
  NcclHold& operator=(const NcclHold&) = delete;

  // CUDA_ERROR_OUT_OF_MEMORY if the blocks do not fit in device memory together.
  CUresult status() const { return status_; }
  // Call with NCCL's result.
  void queued(NcclResult result);

 private:
  const Entry entry_;
  std::vector<NcclPiece> pieces_;  // sorted by device and stream, no duplicates
  bool on_one_stream_ = false;
  bool begun_ = false;
  CUresult status_ = CUDA_SUCCESS;
  tessera_use use_;
};

// The group that is open on this thread.
class NcclGroup {
 public:
  static bool is_open() { return depth_ != 0; }
  static void begin() { ++depth_; }
  // Returns true at the end of the outermost group, and then fills `pieces`; `failed` is set if a call in the group
  // failed.
  static bool end(std::vector<NcclPiece>& pieces, bool& failed);
  static void add(std::span<const NcclPiece> pieces);
  static void fail();

 private:
  struct Open;
  static Open& open();

  [[gnu::tls_model("initial-exec")]] static thread_local constinit int depth_;
  [[gnu::tls_model("initial-exec")]] static thread_local constinit Open* open_;
};

// The pieces that `addresses` belong to. On a capturing stream there are none, and the blocks are exposed instead.
// Errors: CUDA_ERROR_OUT_OF_MEMORY for a block that cannot stay in device memory.
CUresult find_pieces(NcclComm* comm, CUstream given, std::span<const CUdeviceptr> addresses,
                     std::vector<NcclPiece>& pieces);

// Pieces of a communicator that has queued its work, or has ended.
class NcclPending {
 public:
  // Removes them from the pending pieces: once the communicator has ended, its handle may be reused.
  explicit NcclPending(NcclComm* comm);
  // The work of these pieces is queued.
  void queued();

 private:
  std::vector<NcclPiece> pieces_;
};

// Calls `launch` with the blocks of `addresses` in device memory for its work.
template <class Launch>
NcclResult with_buffers(NcclComm* comm, CUstream stream, std::span<const CUdeviceptr> addresses, Launch launch) {
  std::vector<NcclPiece> pieces;
  if (find_pieces(comm, stream, addresses, pieces) != CUDA_SUCCESS) {
    if (NcclGroup::is_open()) NcclGroup::fail();
    return kNcclCudaError;
  }
  if (NcclGroup::is_open()) {
    NcclGroup::add(pieces);
    const Entry entry;
    return launch();
  }
  NcclHold hold(std::move(pieces));
  if (hold.status() != CUDA_SUCCESS) return kNcclCudaError;
  const NcclResult result = launch();
  hold.queued(result);
  return result;
}

}  // namespace tessera::preload
