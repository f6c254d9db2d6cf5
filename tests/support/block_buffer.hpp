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

namespace tessera {

class BlockBuffer {
 public:
  explicit BlockBuffer(Bytes bytes)
      : bytes_(bytes), words_(static_cast<std::uint64_t*>(std::aligned_alloc(4096, bytes.value()))) {
    std::memset(words_.get(), 0, bytes.value());
  }
  BlockBuffer(Bytes bytes, std::uint64_t seed) : BlockBuffer(bytes) {
    for (std::uint64_t i = 0; i < count(); ++i) words_.get()[i] = pattern(seed, i);
  }

  void* data() { return words_.get(); }
  bool holds(std::uint64_t seed) const {
    for (std::uint64_t i = 0; i < count(); ++i) {
      if (words_.get()[i] != pattern(seed, i)) return false;
    }
    return true;
  }

 private:
  struct Free {
    void operator()(std::uint64_t* words) const { std::free(words); }
  };

  static std::uint64_t pattern(std::uint64_t seed, std::uint64_t i) {
    return (seed + 1) * 0x9e3779b97f4a7c15u ^ (i * 0xd1342543de82ef95u);
  }
  std::uint64_t count() const { return bytes_.value() / sizeof(std::uint64_t); }

  Bytes bytes_;
  std::unique_ptr<std::uint64_t, Free> words_;
};

}  // namespace tessera
