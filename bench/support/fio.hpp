// fio, the widely known disk benchmark, on a file like the spill file, if it is installed.
//
// It opens our own file anew, through the link of this process's descriptor, so that the blocks have the same layout on
// the disk. Like our code it registers its file and its buffers, and uses huge pages. The time is the one that fio
// reports, which excludes its start.
//
// Thread safety: none; one thread measures.
#pragma once

#include "base/status.hpp"
#include "base/units.hpp"
#include "tier/spill_file.hpp"

namespace tessera::bench {

class Fio {
 public:
  static bool is_installed();

  // `depth` requests of `block` bytes are in flight, by io_uring and O_DIRECT. REQUIRES: is_installed().
  Fio(SpillFile file, Bytes bytes, Bytes block, unsigned depth);

  // Seconds for `bytes`: the whole file, kPasses times. Errors: kIo with fio's output.
  Result<double> write() const { return run("write"); }
  Result<double> read() const { return run("read"); }

 private:
  // fio reports milliseconds, and one pass takes few.
  static constexpr int kPasses = 4;

  Result<double> run(const char* way) const;

  const SpillFile file_;
  const Bytes bytes_, block_;
  const unsigned depth_;
};

}  // namespace tessera::bench
