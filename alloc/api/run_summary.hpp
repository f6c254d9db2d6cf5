// Two lines on standard error: what the heap may use, when it begins, and what it did at the end, with what may help.
//
// They show that the heap works without a request for statistics. In logs and pipes they would be in the way: the
// option `summary` is off unless `tessera run` sees a terminal, where one program of a job speaks for all of its ranks.
//
// Thread safety: constant.
#pragma once

#include <string>

#include "api/options.hpp"
#include "base/units.hpp"
#include "tessera/tessera.h"

namespace tessera {

struct HeapBudgets {
  Bytes device;
  Bytes host;
  Bytes file;  // 0: there is none
};

class RunSummary {
 public:
  explicit RunSummary(const Options& options);

  // Without line ends, as all lines here; "" where the options want none of this program.
  std::string line_at_begin(DeviceId device, const HeapBudgets& budgets) const;
  // "" also if no device was used.
  std::string line_at_end(const tessera_stats& stats) const;

 private:
  const bool prints_;
  const std::string rank_;  // what its lines begin with
};

}  // namespace tessera
