// Allocators that serve the same requests: ours, two host allocators as a lower limit, and two plain designs over the
// same simulated device memory.
//
// A host allocator has no streams, maps no pages and keeps no statistics for an engine, so the time of its pair is the
// least that an allocator can cost; it is not a rival. The plain designs are what programs would use otherwise: one
// lock and best fit, and the caching rules that PyTorch documents.
//
// Thread safety: allocate() and free() by any thread, the rest while no call is in progress.
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
  // Returns an address, or 0 if there is no room. Streams are numbers below kStreams.
  virtual std::uint64_t allocate(Bytes bytes, unsigned stream) = 0;
  virtual void free(std::uint64_t address, unsigned stream) = 0;
  // Announces a use of a block whose pages are all present. Returns false if the contender has no such call.
  virtual bool touch(std::uint64_t, unsigned) { return false; }
  // Bytes taken from the device (or the system), for blocks or in reserve; empty if unknown.
  virtual std::optional<Bytes> reserved() const { return std::nullopt; }

  static constexpr unsigned kStreams = 4;
};

struct Entry {
  std::string name;
  std::unique_ptr<Contender> contender;
};

// The only factory: all contenders available on this machine, ours first, each with `capacity` bytes of memory. A
// library that is not installed is left out.
std::vector<Entry> make_contenders(Bytes capacity);

// Their factories, by file.
std::unique_ptr<Contender> make_tessera(Bytes capacity);
std::unique_ptr<Contender> make_jemalloc();
std::unique_ptr<Contender> make_mimalloc();  // null without libmimalloc.so.2
std::unique_ptr<Contender> make_best_fit(Bytes capacity);
std::unique_ptr<Contender> make_torch_rules(Bytes capacity);
// Pages of 2 MiB only, and of 32 MiB only. Only their memory use is meaningful, not the time of their calls.
std::unique_ptr<Contender> make_base_pages(Bytes capacity);
std::unique_ptr<Contender> make_large_pages(Bytes capacity);

}  // namespace tessera::bench
