// Kernel objects: host ELF shared objects, loaded from memory, and the kernels in them.
//
// Each load is a copy of its own (its variables are separate, as on a GPU): the image goes into a
// memory file, whose inode the dynamic linker has not seen, and is opened from there.
//
// A CUlibrary is the same thing as a CUmodule here, and a CUkernel the same as a CUfunction: CUDA
// lets a CUkernel be launched where a CUfunction is asked for.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/status.hpp"
#include "context.hpp"
#include "driver/sim_kernel.h"
#include "elf_image.hpp"
#include "ranges.hpp"

namespace tessera::softcuda {

struct Module;

struct Function {
  const sim_kernel* kernel = nullptr;
  Module* module = nullptr;
  std::map<int, int> attributes;  // set by the program: remembered
};

struct Module {
  ElfObject object;
  Context* context = nullptr;  // null for a library, which belongs to no context
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions;
  std::map<std::string, Range, std::less<>> globals;
};

class Modules {
 public:
  explicit Modules(Ranges& ranges) : ranges_(ranges) {}

  // `image` is a whole ELF file, whose length is read from its headers; or PTX, for whose entry a host
  // build lies beside the driver.
  // Errors: native code 200 (no ELF object), 209 (of another machine), kOutOfMemory.
  Result<Module*> load(const void* image, Context* context);
  // Errors: native code 301 when there is no such file.
  Result<Module*> load_file(const char* path, Context* context);
  // REQUIRES: no queued work uses its kernels. Errors: native code 400.
  Status unload(Module* module);
  // Errors: native code 400 for no module, 500 for no such name in it.
  Result<Function*> function(Module* module, const char* name);
  Result<Range> global(Module* module, const char* name);
  // Null unless the handle is a function of a loaded module.
  Function* find(CUfunction handle);
  // An attribute that the program set. Null when it did not.
  const int* attribute(const Function& function, int attribute);
  void set_attribute(Function& function, int attribute, int value);
  // Unloads all modules of a context.
  void clear(const Context* context);

 private:
  void close(Module& module) REQUIRES_LOCK(mutex_);

  Ranges& ranges_;
  Mutex mutex_{LockRank::kBlock};
  std::unordered_map<Module*, std::unique_ptr<Module>> modules_ GUARDED_BY(mutex_);
  std::unordered_set<const Function*> functions_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
