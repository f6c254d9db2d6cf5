// Tells ThreadSanitizer of reads that race by design; without it, nothing.
//
// Thread safety: a scope belongs to the thread that opened it.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_THREAD__)
// Exported by the sanitizer's runtime, which has no public header for them.
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void __tsan_write_range(void* bytes, std::size_t size);  // NOLINT(bugprone-reserved-identifier)
}
#endif

namespace tessera {

// Reads of this scope are not checked. The sanitizer also drops writes meanwhile, so the one range that
// the scope writes is named. A suppression would not do: each racing word is then reported first and
// dropped after, which makes the copy of a page take seconds.
class UncheckedReads {
 public:
#if defined(__SANITIZE_THREAD__)
  UncheckedReads(void* written, std::size_t size) {
    __tsan_write_range(written, size);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  }
  ~UncheckedReads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
#else
  UncheckedReads(void* /*written*/, std::size_t /*size*/) {}
  ~UncheckedReads() = default;
#endif
  UncheckedReads(const UncheckedReads&) = delete;
  UncheckedReads& operator=(const UncheckedReads&) = delete;
};

}  // namespace tessera
