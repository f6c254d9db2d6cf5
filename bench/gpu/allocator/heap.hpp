// A Tessera allocator for programs that measure it through its C API.
//
// Thread safety: that of the C API.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gpu.hpp"
#include "tessera/tessera.h"

namespace first_light {

// Thrown when a Tessera call fails that the program cannot do without.
struct HeapFailure {
  std::string call, message;
};

inline void heap_must(tessera_result result, const char* call) {
  if (result != TESSERA_OK) throw HeapFailure{call, tessera_last_error()};
}
#define HEAP_MUST(call) ::first_light::heap_must((call), #call)

class Heap {
 public:
  explicit Heap(const std::vector<std::pair<std::string, std::string>>& settings) {
    tessera_options* options = nullptr;
    HEAP_MUST(tessera_options_create(&options));
    for (const auto& [name, value] : settings) {
      HEAP_MUST(tessera_options_set(options, name.c_str(), value.c_str()));
    }
    HEAP_MUST(tessera_allocator_create(options, &allocator_));
    tessera_options_destroy(options);
  }
  ~Heap() { tessera_allocator_destroy(allocator_); }
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  operator tessera_allocator*() const { return allocator_; }

  tessera_stats stats() const {
    tessera_stats stats{};
    stats.size = sizeof(stats);
    HEAP_MUST(tessera_get_stats(allocator_, &stats));
    return stats;
  }

 private:
  tessera_allocator* allocator_ = nullptr;
};

// A stream on which blocks of a heap are used: the heap hears of its end. REQUIRES: it ends before the heap.
class HeapStream {
 public:
  explicit HeapStream(tessera_allocator* heap) : heap_(heap) {}
  ~HeapStream() { (void)tessera_retire_stream(heap_, static_cast<CUstream>(stream_)); }
  HeapStream(const HeapStream&) = delete;
  HeapStream& operator=(const HeapStream&) = delete;
  operator CUstream() const { return stream_; }
  void wait() const { stream_.wait(); }

 private:
  tessera_allocator* heap_;
  Stream stream_;
};

// Prints the one line of output of such a program, also when it fails.
template <class Measure>
int print_result(Measure measure) {
  Json line;
  int code = 0;
  try {
    line = measure();
  } catch (const HeapFailure& failure) {
    line = {{"call", failure.call}, {"error", failure.message}};
    code = 1;
  } catch (const Failure& failure) {
    line = {{"call", failure.call}, {"code", failure.code}, {"error", name_of(failure.code)}};
    code = 1;
  }
  std::puts(line.dump().c_str());
  return code;
}

}  // namespace first_light
