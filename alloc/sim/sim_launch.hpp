// A kernel launch as work for the compute engine: checked, with its parameters copied, run block by block.
//
// Thread safety: stateless.
#pragma once

#include "base/status.hpp"
#include "driver/driver.hpp"
#include "sim/sim_work.hpp"

namespace tessera {

// `launch.kernel` points to a sim_kernel that outlives the work. The work fails with native code 700 when the kernel
// faults.
// Errors: native 400 for no kernel or one of another ABI, 1 for dimensions, shared memory or a parameter block that the
// device does not permit.
Result<SimWork> make_launch(const Launch& launch);

}  // namespace tessera
