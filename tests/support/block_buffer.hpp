// Memory accepted by direct transfers: aligned to 4096, filled with a pattern that identifies the position of each
// byte.
//
// Thread safety: a value owned by one thread.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/units.hpp"
#include "word_loops.hpp"

namespace tessera {

class BlockBuffer {
 public:
  explicit BlockBuffer(Bytes bytes)
      : bytes_(bytes), words_(static_cast<std::uint64_t*>(std::aligned_alloc(4096, bytes.value()))) {
    std::memset(words_.get(), 0, bytes.value());
  }
  BlockBuffer(Bytes bytes, std::uint64_t seed) : BlockBuffer(bytes) { fill_words({words_.get(), count()}, seed); }

  void* data() { return words_.get(); }
  bool holds(std::uint64_t seed) const { return wrong_words({words_.get(), count()}, seed) == 0; }

 private:
  struct Free {
    void operator()(std::uint64_t* words) const { std::free(words); }
  };

  std::uint64_t count() const { return bytes_.value() / sizeof(std::uint64_t); }

  Bytes bytes_;
  std::unique_ptr<std::uint64_t, Free> words_;
};

}  // namespace tessera
