// What copies and sets write: addresses of ours that a program stores where no launch shows them.
//
// Small copies from the host are searched for words that point into live blocks. In managed memory
// such a word makes the block that it lies in a table (pointer_tables.hpp). Anywhere else (module
// globals, memory of the driver's own) no call shows its use, so the block that it names
// stays in device memory as long as the word is there (outside_words.hpp), and the statistics say so.
//
// Not seen: words in copies of more than kMostSearched bytes, in copies of rows or through arrays, in
// copies while a stream captures, and words that kernels write.
//
// Thread safety: any thread; a CopiedWords belongs to one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_api.hpp"
#include "outside_words.hpp"

namespace tessera::preload {

inline constexpr std::size_t kMostSearched = 128 << 10;

// Where a copy comes from. kAny: the driver is asked, if it matters.
enum class Source : std::uint8_t {
  kHost,  // memory that can be read
  kDevice,
  kAny
};

// kMaybe: the copy may not be made after all, so what was there before counts too.
enum class Overwrites : std::uint8_t { kYes, kMaybe };

// The words of one copy, from before the driver is asked for it.
class CopiedWords {
 public:
  CopiedWords(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Source source, CUstream stream,
              Overwrites overwrites = Overwrites::kYes);
  CopiedWords(const CopiedWords&) = delete;
  CopiedWords& operator=(const CopiedWords&) = delete;

  // Not success: what the copy stores outside the heap cannot stay in device memory, so it must not be made.
  CUresult status() const { return outside_.status(); }
  // The driver has taken the copy.
  void made();

 private:
  enum class Target : std::uint8_t { kNone, kTable, kOutside, kHost };

  const CUdeviceptr to_, from_;
  const std::size_t bytes_;
  Source source_;
  const Overwrites overwrites_;
  Target target_ = Target::kNone;
  bool is_late_ = false;  // a host function may still fill what it reads
  OutsideChange outside_;
};

// Calls the driver for a copy, by `call`, and notes what it writes.
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

// Bytes that are no addresses, or that cannot be known. To be called after the driver has taken the call. In a capture
// nothing is written yet.
void note_overwritten(CUdeviceptr to, std::size_t bytes, CUstream stream);

// What a copy wrote, read again: counts beside what was read before. True if that shows an address that was not known.
bool note_late_words(CUdeviceptr to, const void* bytes, std::size_t count);
// A copy from the heap to host memory was queued, not in a capture.
void note_copy_out(CUdeviceptr to, CUdeviceptr from, std::size_t bytes);

// Memory that the driver does not know is pageable host memory.
bool is_host_memory(CUdeviceptr address);

}  // namespace tessera::preload
