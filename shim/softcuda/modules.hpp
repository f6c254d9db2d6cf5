// Kernel objects: host ELF shared objects loaded from memory, and their kernels.
//
// A CUmodule belongs to a context and contains CUfunctions. A CUlibrary belongs to no context and contains CUkernels;
// each context that uses it gets its own module of the library, with its own variables. The four kinds of handles are
// distinct, as in a GPU's driver: a CUkernel is accepted as a CUfunction only where CUDA allows it (launchable()).
//
// Each load is a separate copy (with separate variables, as on a GPU): the image is written to a memory file, with an
// inode unknown to the dynamic linker, and opened from there.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "context.hpp"
#include "device_memory.hpp"
#include "elf_image.hpp"
#include "ranges.hpp"
#include "sim/sim_kernel.h"

namespace tessera::softcuda {

struct Kernel;
struct Library;
struct Module;

// A CUfunction.
struct Function {
  const sim_kernel* kernel = nullptr;
  Module* module = nullptr;
  Kernel* of = nullptr;           // in a library's module: the kernel that this function belongs to
  std::map<int, int> attributes;  // set by the program; only stored
};

// A CUmodule.
struct Module {
  ElfObject object;
  FrameId code{};  // the device memory of its code
  Context* context = nullptr;
  Library* library = nullptr;      // null for a module that the program loaded
  std::vector<std::string> names;  // of its kernels
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions;
  std::map<std::string, Range, std::less<>> globals;
};

// A CUkernel.
struct Kernel {
  const sim_kernel* kernel = nullptr;  // for queries; the functions in contexts are run
  Library* library = nullptr;
  std::map<std::pair<CUdevice, int>, int> attributes;  // by device
};

// A CUlibrary.
struct Library {
  ElfObject object;                // never run: its modules are copies of it
  std::vector<std::string> names;  // of its kernels
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels;
  std::map<const Context*, Module*> modules;
};

inline CUfunction handle_of(Function* function) { return reinterpret_cast<CUfunction>(function); }
inline CUkernel handle_of(Kernel* kernel) { return reinterpret_cast<CUkernel>(kernel); }
inline CUmodule handle_of(Module* module) { return reinterpret_cast<CUmodule>(module); }
inline CUlibrary handle_of(Library* library) { return reinterpret_cast<CUlibrary>(library); }

// Errors: native code 400 for a handle of another kind, in every call that takes a handle; 500 for an unknown name, in
// every call that takes a name.
class Modules {
 public:
  // Each module uses `bytes` of device memory.
  Modules(Ranges& ranges, DeviceMemory& memory, Bytes bytes) : ranges_(ranges), memory_(memory), bytes_(bytes) {}

  // `image` is a complete ELF file, with its length computed from its headers; or PTX, if a host build of its entry is
  // installed next to the driver. Errors: native code 200 (not an ELF object), 209 (another machine type),
  // kOutOfMemory, also for device memory: a library allocates device memory in each context when its module is loaded
  // there.
  Result<Module*> load(const void* image, Context* context);
  Result<Library*> load_library(const void* image);
  // Errors: native code 301 if the file does not exist.
  Result<Module*> load_file(const char* path, Context* context);
  Result<Library*> load_library_file(const char* path);
  // REQUIRES: no queued work uses its kernels. A library's module is unloaded only with its library.
  Status unload(CUmodule module);
  Status unload(CUlibrary library);

  Result<Function*> function(CUmodule module, const char* name);
  Result<Kernel*> kernel(CUlibrary library, const char* name);
  // All of them, in image order.
  Result<std::vector<Function*>> functions(CUmodule module);
  Result<std::vector<Kernel*>> kernels(CUlibrary library);
  Result<Range> global(CUmodule module, const char* name);
  // The module or function that stands for the library or kernel in the context.
  Result<Module*> module_of(CUlibrary library, Context& context);
  Result<Function*> function_of(CUkernel kernel, Context& context);
  // The function, or the context's function of a CUkernel cast to CUfunction.
  Result<Function*> launchable(CUfunction handle, Context& context);

  // Null for a handle of another kind.
  Function* find(CUfunction handle);
  Kernel* find(CUkernel handle);
  // An attribute set by the program. A function also has the attributes of its kernel.
  std::optional<int> attribute(const Function& function, int attribute);
  std::optional<int> attribute(const Kernel& kernel, CUdevice device, int attribute);
  void set_attribute(Function& function, int attribute, int value);
  void set_attribute(Kernel& kernel, CUdevice device, int attribute, int value);
  // Unloads all modules of a context; libraries stay.
  void clear(const Context* context);

 private:
  Result<Module*> add(const ElfObject& object, Context* context) REQUIRES_LOCK(mutex_);
  Library* add(std::unique_ptr<Library> library) REQUIRES_LOCK(mutex_);
  Result<Module*> find_module(CUmodule handle) REQUIRES_LOCK(mutex_);
  Result<Library*> find_library(CUlibrary handle) REQUIRES_LOCK(mutex_);
  Result<Function*> function_in(Module& module, const std::string& name) REQUIRES_LOCK(mutex_);
  Result<Kernel*> kernel_in(Library& library, const std::string& name) REQUIRES_LOCK(mutex_);
  Result<Module*> module_in(Library& library, Context& context) REQUIRES_LOCK(mutex_);
  Result<Function*> function_in(Kernel& kernel, Context& context) REQUIRES_LOCK(mutex_);
  void close(Module& module) REQUIRES_LOCK(mutex_);

  Ranges& ranges_;
  DeviceMemory& memory_;
  const Bytes bytes_;
  Mutex mutex_{LockRank::kBlock};
  std::unordered_map<const Module*, std::unique_ptr<Module>> modules_ GUARDED_BY(mutex_);
  std::unordered_map<const Library*, std::unique_ptr<Library>> libraries_ GUARDED_BY(mutex_);
  std::unordered_set<const Function*> functions_ GUARDED_BY(mutex_);
  std::unordered_set<const Kernel*> kernels_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
