// fio, the benchmark of disks that others know, on a file like the spill file: where it is
// installed.
//
// It opens our own file anew, through the link of this process's descriptor, so that blocks on the
// disk are laid out as ours are. As ours it registers its file and its buffers, and asks for huge
// pages. The time is what fio says: its start is not in it.
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

  // `depth` requests of `block` bytes are in flight, by io_uring and O_DIRECT. REQUIRES:
  // is_installed().
  Fio(SpillFile file, Bytes bytes, Bytes block, unsigned depth);

  // Seconds for `bytes`: all of the file, kPasses times over. Errors: kIo with what fio said.
  Result<double> write() const { return run("write"); }
  Result<double> read() const { return run("read"); }

 private:
  // fio counts milliseconds, of which one pass takes few.
  static constexpr int kPasses = 4;

  Result<double> run(const char* way) const;

  const SpillFile file_;
  const Bytes bytes_, block_;
  const unsigned depth_;
};

}  // namespace tessera::bench
