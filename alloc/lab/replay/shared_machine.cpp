#include "lab/replay/shared_machine.hpp"

#include <algorithm>

#include "api/budgets.hpp"
#include "base/page_class.hpp"

namespace tessera {
namespace {

// The smallest device that has this much beside its reserve.
Bytes memory_for(Bytes usable) {
  Bytes memory = usable;
  while (memory - context_reserve(memory) < usable) memory = usable + round_up(context_reserve(memory), kBasePage);
  return memory;
}

}  // namespace

SharedMachine::SharedMachine(Bytes usable) : memory(memory_for(usable)), hardware(1, memory, clock) {}

}  // namespace tessera
