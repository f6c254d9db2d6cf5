// What copies and sets write: managed addresses stored where no launch shows them.
//
// Small copies from the host are searched for words that point into live blocks. In managed memory such a word turns
// the block that contains it into a table (pointer_tables.hpp). Anywhere else (module globals, the driver's own memory)
// no call shows its use, so the block that the word points to is kept in device memory as long as the word is there
// (outside_words.hpp), and the statistics report it.
//
// Not seen: words in copies of more than kMostSearched bytes, in strided or array copies, in copies during a capture,
// and words that kernels write.
//
// Thread safety: any thread; a CopiedWords object belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_api.hpp"
#include "outside_words.hpp"

namespace tessera::preload {

inline constexpr std::size_t kMostSearched = 128 << 10;

// Where a copy reads from. kAny: the driver is asked when it matters.
enum class Source : std::uint8_t {
  kHost,  // readable host memory
  kDevice,
  kAny
};

// kMaybe: the copy may not happen after all, so the previous contents count too.
enum class Overwrites : std::uint8_t { kYes, kMaybe };

// The words of one copy. Constructed before the driver is asked for the copy.
class CopiedWords {
 public:
  CopiedWords(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Source source, CUstream stream,
              Overwrites overwrites = Overwrites::kYes);
  CopiedWords(const CopiedWords&) = delete;
  CopiedWords& operator=(const CopiedWords&) = delete;

  // On failure, a block whose address the copy stores outside the heap cannot stay in device memory: do not make the
  // copy.
  CUresult status() const { return outside_.status(); }
  // The driver has accepted the copy.
  void made();

 private:
  enum class Target : std::uint8_t { kNone, kTable, kOutside, kHost };

  const CUdeviceptr to_, from_;
  const std::size_t bytes_;
  Source source_;
  const Overwrites overwrites_;
  Target target_ = Target::kNone;
  bool is_late_ = false;  // a host function may still write its source
  OutsideChange outside_;
};

// Calls `call`, which makes the copy, and records what it writes.
template <class Call>
CUresult with_words(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Source source, CUstream stream, Call call) {
  CopiedWords words(to, from, bytes, source, stream);
  if (words.status() != CUDA_SUCCESS) return words.status();
  const CUresult result = call();
  if (result == CUDA_SUCCESS) words.made();
  return result;
}
template <class Call>
CUresult with_words(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream, Call call) {
  return with_words(to, reinterpret_cast<CUdeviceptr>(from), bytes, Source::kHost, stream, call);
}

// Marks bytes that hold no addresses, or unknown contents. Call after the driver has accepted the call. During a
// capture nothing is written yet, so nothing is noted.
void note_overwritten(CUdeviceptr to, std::size_t bytes, CUstream stream);

// Reads the source of a copy again; the words count in addition to those read before. True if an unknown address
// appears.
bool note_late_words(CUdeviceptr to, const void* bytes, std::size_t count);
// A copy from the heap to host memory was queued, outside a capture.
void note_copy_out(CUdeviceptr to, CUdeviceptr from, std::size_t bytes);

// Memory unknown to the driver is pageable host memory.
bool is_host_memory(CUdeviceptr address);

}  // namespace tessera::preload
