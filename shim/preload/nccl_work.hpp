// Work that NCCL queues: the blocks that it uses are in device memory until their streams have passed it.
//
// Why: NCCL's kernels find their buffers in a queue in host memory, so no launch shows them; the call that
// asks for the work does. A call alone queues its work before it returns. In a group all work is queued by
// the outermost ncclGroupEnd, so the blocks are brought in there, together, and are held until all of it is
// queued: between the launches of one group nothing may have to leave, since what was launched waits for
// what was not. A communicator that does not block queues its work later, by a thread of NCCL's: its blocks
// are pinned until it says that it has (ncclCommGetAsyncError), or ends.
//
// On a stream that is being captured no use is made: the kernels of the graph do not show their buffers
// either, so these blocks stay in device memory until they are freed, and the statistics say so.
//
// Thread safety: any thread; a group belongs to the thread that began it, as NCCL has it.
#pragma once

#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "lifecycle.hpp"
#include "nccl_library.hpp"

namespace tessera::preload {

// A block that work on a stream uses.
struct NcclPiece {
  NcclComm* comm;
  int device;  // of the block, and so of the stream
  CUstream stream;
  CUdeviceptr block;
};

// Holds the blocks while NCCL queues work on them. The thread makes no other Tessera call meanwhile.
class NcclHold {
 public:
  explicit NcclHold(std::vector<NcclPiece> pieces);
  ~NcclHold();
  NcclHold(const NcclHold&) = delete;
  NcclHold& operator=(const NcclHold&) = delete;

  // CUDA_ERROR_OUT_OF_MEMORY when the blocks do not fit into device memory together.
  CUresult status() const { return status_; }
  // To be called with what NCCL has answered.
  void queued(NcclResult result);

 private:
  const Entry entry_;
  std::vector<NcclPiece> pieces_;  // sorted by device and stream, each once
  bool on_one_stream_ = false;
  bool begun_ = false;
  CUresult status_ = CUDA_SUCCESS;
  tessera_use use_;
};

// The group that this thread is in.
class NcclGroup {
 public:
  static bool is_open() { return depth_ != 0; }
  static void begin() { ++depth_; }
  // True at the end of the outermost one, whose pieces `pieces` gets; `failed` when a call in it did.
  static bool end(std::vector<NcclPiece>& pieces, bool& failed);
  static void add(std::span<const NcclPiece> pieces);
  static void fail();

 private:
  struct Open;
  static Open& open();

  [[gnu::tls_model("initial-exec")]] static thread_local constinit int depth_;
  [[gnu::tls_model("initial-exec")]] static thread_local constinit Open* open_;
};

// The pieces that `addresses` name. On a stream that is being captured there are none, and their blocks are
// exposed. Errors: CUDA_ERROR_OUT_OF_MEMORY for one that cannot stay in device memory.
CUresult find_pieces(NcclComm* comm, CUstream given, std::span<const CUdeviceptr> addresses,
                     std::vector<NcclPiece>& pieces);

// The communicator has queued its work, or has ended.
class NcclPending {
 public:
  // Taken out of those that wait: `comm` may be another's when it has ended.
  explicit NcclPending(NcclComm* comm);
  // Says that the work of these is queued.
  void queued();

 private:
  std::vector<NcclPiece> pieces_;
};

// Makes the call that `launch` is, with the blocks of `addresses` where its work needs them.
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
