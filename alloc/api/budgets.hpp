// Turns "auto" into bytes: how much of this machine each tier may use.
//
// Asked once when an allocator (or one of its devices) starts; budgets do not follow the machine's
// load afterwards.
//
// Thread safety: stateless.
#pragma once

#include <string>

#include "api/options.hpp"

namespace tessera {

// RAM that the kernel would hand out without swapping, within this process's cgroup; 0 if unknown.
Bytes available_host_memory();
// Space a normal user may still fill. Errors: kIo with the directory and the reason.
Result<Bytes> free_space(const std::string& directory);

// 90 % of `free` or the option's value, in whole base pages, and never more than `free`.
Bytes device_budget(const Options& options, Bytes free);
Bytes host_budget(const Options& options);
// 0 when there is to be no file tier; never more than the directory has room for. Errors: kIo when the directory cannot be asked.
Result<Bytes> file_budget(const Options& options);
std::string spill_directory(const Options& options);

}  // namespace tessera
