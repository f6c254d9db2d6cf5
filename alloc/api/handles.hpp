// The objects behind the opaque pointers of the C API.
//
// Thread safety: that of their members.
#pragma once

#include <memory>

#include "api/allocator.hpp"
#include "api/options.hpp"
#include "base/clock.hpp"
#include "driver/cuda_resolver.hpp"

struct tessera_options {
  tessera::Options options;
  tessera::CudaResolver resolver;  // empty: the machine's own driver
};

struct tessera_allocator {
  tessera::SteadyClock clock;
  std::unique_ptr<tessera::Allocator> allocator;
};
