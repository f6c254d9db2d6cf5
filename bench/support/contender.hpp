// Allocators that serve the same requests: ours, two host allocators as a floor, and two plain designs
// over the same make-believe device memory.
//
// A host allocator keeps no streams, maps no pages and counts nothing for an engine, so its pair is what
// an allocator can cost at least and not a rival. The plain designs are what programs would use
// otherwise: one lock and a best fit, and the caching rules that PyTorch documents.
//
// Thread safety: allocate() and free() by any thread, the rest while no call is under way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace tessera::bench {

class Contender {
 public:
  virtual ~Contender() = default;
  // An address, or 0 when there is no room. Streams are numbers below kStreams.
  virtual std::uint64_t allocate(Bytes bytes, unsigned stream) = 0;
  virtual void free(std::uint64_t address, unsigned stream) = 0;
  // Announces a use of a block whose pages are all present. False where there is no such thing.
  virtual bool touch(std::uint64_t, unsigned) { return false; }
  // Held from the device (or the system), for blocks or in reserve; nothing where it cannot be told.
  virtual std::optional<Bytes> reserved() const { return std::nullopt; }

  static constexpr unsigned kStreams = 4;
};

struct Entry {
  std::string name;
  std::unique_ptr<Contender> contender;
};

// The one factory: every contender there is on this machine, ours first, each with `capacity` of memory.
// A library that is not installed is left out.
std::vector<Entry> make_contenders(Bytes capacity);

// Their makers, by file.
std::unique_ptr<Contender> make_tessera(Bytes capacity);
std::unique_ptr<Contender> make_jemalloc();
std::unique_ptr<Contender> make_mimalloc();  // null without libmimalloc.so.2
std::unique_ptr<Contender> make_best_fit(Bytes capacity);
std::unique_ptr<Contender> make_torch_rules(Bytes capacity);
// Pages of 2 MiB only, and of 32 MiB only. They tell about room; what their calls cost says nothing.
std::unique_ptr<Contender> make_base_pages(Bytes capacity);
std::unique_ptr<Contender> make_large_pages(Bytes capacity);

}  // namespace tessera::bench
