// Two lines on standard error: what the heap may use, when it begins, and what it did at the end, with what may help.
//
// They show that the heap works without a request for statistics. In logs and pipes they would be in the way: the
// option `summary` is off unless `tessera run` sees a terminal.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "base/units.hpp"
#include "tessera/tessera.h"

namespace tessera {

struct HeapBudgets {
  Bytes device;
  Bytes host;
  Bytes file;  // 0: there is none
};

// Without line ends, as all lines here.
std::string line_at_begin(DeviceId device, const HeapBudgets& budgets);

// "" if no device was used.
std::string line_at_end(const tessera_stats& stats);

}  // namespace tessera
