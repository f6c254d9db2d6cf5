// A call of the program that uses managed memory: its blocks are in device memory for as long as its work needs them.
//
// Thread safety: an object belongs to the thread that made it.
// Invariants: between construction and destruction this thread makes no other Tessera call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "cuda_api.hpp"
#include "found_words.hpp"
#include "lifecycle.hpp"
#include "program_waits.hpp"
#include "resolved_addresses.hpp"
#include "stray_words.hpp"
#include "true_driver.hpp"

namespace tessera::preload {

// Bytes that a call reads or writes. An extent of 0 bytes needs nothing, at any address: CUDA accepts any address
// there.
struct Extent {
  CUdeviceptr address;
  std::size_t bytes;
};

enum class Waits {
  kNo,   // the call queues its work and returns
  kMay,  // it may wait for work, its own or earlier: it must not block other threads meanwhile
  kAll,  // as kMay, and when it returns, all work on the stream up to its own is over
};

enum class Launched {
  kKernel,    // uses blocks of its own device
  kOneBlock,  // as kKernel, and so small that it may only pass on the addresses that it is given
  kGraph,     // may copy from device to device
};

class ManagedUse {
 public:
  // For the managed extents. Status: CUDA_ERROR_INVALID_VALUE for an extent that is not entirely inside a live block,
  // as the driver returns for its own memory.
  ManagedUse(std::span<const Extent> extents, CUstream stream, Waits waits, const char* call);
  // For a launch: any of the words may be an address. Blocks that contain tables also bring in the blocks that the
  // tables name. A launch without words counts as work that may reach any block. `given` helps to interpret words
  // outside live blocks; it has to outlive this object.
  ManagedUse(const WordSpans& words, CUstream stream, const char* kernel, Launched launched = Launched::kKernel,
             const GivenParameters* given = nullptr);
  ~ManagedUse();
  ManagedUse(const ManagedUse&) = delete;
  ManagedUse& operator=(const ManagedUse&) = delete;

  CUresult status() const { return status_; }
  // The call has returned with success. For Waits::kAll, its work is over.
  void returned();

 private:
  void begin_launch(const WordSpans& words, CUstream stream, const char* kernel, Launched launched);
  void begin_with_tables(const WordSpans& words, CUstream stream, const char* kernel, Launched launched,
                         bool was_handed);
  // For blocks whose work has to be waited for on the host. Returns false, and does nothing, if there are none.
  bool begin_apart(const WordSpans& words, CUstream stream, const char* call);
  tessera_result begin_without_strays(const WordSpans& words, CUstream stream, const char* kernel);
  tessera_result begin_graded(const WordSpans& words, CUstream stream, const char* kernel);
  tessera_result begin(std::span<const tessera_range> ranges, CUstream stream, Waits waits);
  void settle(tessera_result result, const char* call);
  void begin_unnamed(CUstream stream, const char* kernel);
  void note_handed(std::span<const std::uint64_t> given) const;

  const Entry entry_;
  tessera_allocator* const allocator_;
  std::optional<ResolvedAddresses> resolved_;     // set for a copy or set that is captured
  std::optional<QueuedWork> queued_;              // set for Waits::kAll: the work that will be over on return
  CUstream stream_ = nullptr;                     // the stream of that work
  const GivenParameters* const given_ = nullptr;  // of a kernel
  CUstream waits_for_ = nullptr;                  // waited for at the end; null: none
  bool begun_ = false;
  CUresult status_ = CUDA_SUCCESS;
  tessera_use use_;
};

// The C API's stream for a CUDA stream, by which Tessera orders a use.
inline tessera_stream stream_of(CUstream stream) {
  return stream == CU_STREAM_LEGACY ? nullptr : static_cast<tessera_stream>(stream);
}

// Calls the driver while the extents' blocks are in device memory. In the common case, nothing managed, it costs one
// comparison per extent.
template <class Function, class... Args>
CUresult with_blocks(std::span<const Extent> extents, CUstream stream, Waits waits, const char* call,
                     Function TrueDriver::*function, Args... args) {
  bool any = false;
  for (const Extent& extent : extents) any = any || (extent.bytes != 0 && managed(extent.address));
  if (!any) return call_true(function, args...);
  ManagedUse use(extents, stream, waits, call);
  if (use.status() != CUDA_SUCCESS) return use.status();
  const CUresult result = call_true(function, args...);
  if (result == CUDA_SUCCESS) use.returned();
  return result;
}

template <class Function, class... Args>
CUresult with_blocks(std::initializer_list<Extent> extents, CUstream stream, Waits waits, const char* call,
                     Function TrueDriver::*function, Args... args) {
  return with_blocks(std::span(extents.begin(), extents.size()), stream, waits, call, function, args...);
}

}  // namespace tessera::preload
