// One call of the program that uses managed memory: its blocks are in device memory for as long as
// its work needs them.
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
#include "stray_words.hpp"
#include "true_driver.hpp"

namespace tessera::preload {

// What a call reads or writes. Of 0 bytes nothing is needed, wherever they lie: CUDA takes any address there.
struct Extent {
  CUdeviceptr address;
  std::size_t bytes;
};

enum class Waits {
  kNo,   // the call queues its work and returns
  kMay,  // it may wait for work, its own or earlier: it must not hold up others meanwhile
  kAll,  // likewise, and all work on the stream up to its own is over when it has returned
};

enum class Launched {
  kKernel,    // uses blocks of its own device
  kOneBlock,  // likewise, and so small that it may only pass on the addresses that it is given
  kGraph,     // may copy from device to device
};

class ManagedUse {
 public:
  // For the extents that are managed. Status: CUDA_ERROR_INVALID_VALUE for one that is not wholly
  // inside a live block, as the driver says of its own memory.
  ManagedUse(std::span<const Extent> extents, CUstream stream, Waits waits, const char* call);
  // For a launch: any of the words may be an address. Blocks that hold tables bring in what these name. Without words
  // the launch counts as work that may reach any block.
  // `given` tells what words in no live block may mean; it has to live as long as this.
  ManagedUse(const WordSpans& words, CUstream stream, const char* kernel,
             Launched launched = Launched::kKernel, const GivenParameters* given = nullptr);
  ~ManagedUse();
  ManagedUse(const ManagedUse&) = delete;
  ManagedUse& operator=(const ManagedUse&) = delete;

  CUresult status() const { return status_; }
  // The call has returned, with success. Of one that waits for all, the work is over.
  void returned();

 private:
  void begin_launch(const WordSpans& words, CUstream stream, const char* kernel, Launched launched);
  void begin_with_tables(const WordSpans& words, CUstream stream, const char* kernel, Launched launched,
                         bool was_handed);
  // For blocks whose work has to be waited for on the host. False, and nothing done, if there are none.
  bool begin_apart(const WordSpans& words, CUstream stream, const char* call);
  tessera_result begin_without_strays(const WordSpans& words, CUstream stream, const char* kernel);
  tessera_result begin_graded(const WordSpans& words, CUstream stream, const char* kernel);
  tessera_result begin(std::span<const tessera_address> addresses, CUstream stream, Waits waits);
  void settle(tessera_result result, const char* call);
  void begin_unnamed(CUstream stream, const char* kernel);

  const Entry entry_;
  tessera_allocator* const allocator_;
  std::optional<QueuedWork> queued_;  // where all of it will be over
  CUstream stream_ = nullptr;         // on that
  const GivenParameters* const given_ = nullptr;  // of a kernel
  CUstream waits_for_ = nullptr;  // at the end; null: for nothing
  bool begun_ = false;
  CUresult status_ = CUDA_SUCCESS;
  tessera_use use_;
};

// Where Tessera orders a use: the C API's name of CUDA's stream.
inline tessera_stream stream_of(CUstream stream) {
  return stream == CU_STREAM_LEGACY ? nullptr : static_cast<tessera_stream>(stream);
}

// Calls the driver with the extents' blocks in device memory. The common case, nothing managed,
// costs a compare for each extent.
template <class Function, class... Args>
CUresult with_blocks(std::span<const Extent> extents, CUstream stream, Waits waits,
                     const char* call, Function TrueDriver::*function, Args... args) {
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
CUresult with_blocks(std::initializer_list<Extent> extents, CUstream stream, Waits waits,
                     const char* call, Function TrueDriver::*function, Args... args) {
  return with_blocks(std::span(extents.begin(), extents.size()), stream, waits, call, function,
                     args...);
}

}  // namespace tessera::preload
