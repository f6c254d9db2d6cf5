// Marks reads that race by design for ThreadSanitizer; empty in other builds.
//
// Thread safety: a scope belongs to the thread that opened it.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_THREAD__)
// Exported by the sanitizer's runtime, which has no public header for these functions.
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void __tsan_write_range(void* bytes, std::size_t size);  // NOLINT(bugprone-reserved-identifier)
}
#endif

namespace tessera {

// Reads within the scope are not checked. The sanitizer drops writes as well, so the one range that the scope
// writes is declared. A suppression is no alternative: each racing word is first reported and then dropped, so
// copying a page takes seconds.
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
