// Kernel objects: host ELF shared objects, loaded from memory, and the kernels in them.
//
// A CUmodule belongs to a context and holds CUfunctions. A CUlibrary belongs to no context and holds
// CUkernels; each context that uses one gets its own module of the library, with its own variables. The four
// kinds of handles are distinct, as with a GPU's driver: a CUkernel is accepted as a CUfunction only where CUDA
// says so (launchable()).
//
// Each load is a copy of its own (its variables are separate, as on a GPU): the image goes into a
// memory file, whose inode the dynamic linker has not seen, and is opened from there.
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
#include "driver/sim_kernel.h"
#include "elf_image.hpp"
#include "ranges.hpp"

namespace tessera::softcuda {

struct Kernel;
struct Library;
struct Module;

// A CUfunction.
struct Function {
  const sim_kernel* kernel = nullptr;
  Module* module = nullptr;
  Kernel* of = nullptr;           // in a library's module: the kernel whose function this is
  std::map<int, int> attributes;  // set by the program: remembered
};

// A CUmodule.
struct Module {
  ElfObject object;
  FrameId code{};                  // device memory that it takes
  Context* context = nullptr;
  Library* library = nullptr;      // null for a module that the program loaded
  std::vector<std::string> names;  // of its kernels
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions;
  std::map<std::string, Range, std::less<>> globals;
};

// A CUkernel.
struct Kernel {
  const sim_kernel* kernel = nullptr;  // for queries; what runs is the function of a context
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

// Errors: native code 400 for a handle of another kind, in every call that takes a handle; 500 for an unknown
// name, in every call that takes a name.
class Modules {
 public:
  // A module takes `bytes` of device memory.
  Modules(Ranges& ranges, DeviceMemory& memory, Bytes bytes) : ranges_(ranges), memory_(memory), bytes_(bytes) {}

  // `image` is a whole ELF file, whose length is read from its headers; or PTX, for whose entry a host
  // build lies beside the driver.
  // Errors: native code 200 (no ELF object), 209 (of another machine), kOutOfMemory, of the device too: a library takes its
  // memory in each context when a module of it is loaded there.
  Result<Module*> load(const void* image, Context* context);
  Result<Library*> load_library(const void* image);
  // Errors: native code 301 when there is no such file.
  Result<Module*> load_file(const char* path, Context* context);
  Result<Library*> load_library_file(const char* path);
  // REQUIRES: no queued work uses its kernels. A library's module is unloaded with its library only.
  Status unload(CUmodule module);
  Status unload(CUlibrary library);

  Result<Function*> function(CUmodule module, const char* name);
  Result<Kernel*> kernel(CUlibrary library, const char* name);
  // All of them, in the order of the image.
  Result<std::vector<Function*>> functions(CUmodule module);
  Result<std::vector<Kernel*>> kernels(CUlibrary library);
  Result<Range> global(CUmodule module, const char* name);
  // The module or function that stands for them in the context.
  Result<Module*> module_of(CUlibrary library, Context& context);
  Result<Function*> function_of(CUkernel kernel, Context& context);
  // The function, or the context's function of a CUkernel that is cast to CUfunction.
  Result<Function*> launchable(CUfunction handle, Context& context);

  // Null for a handle of another kind.
  Function* find(CUfunction handle);
  Kernel* find(CUkernel handle);
  // An attribute that the program set. A function also has the attributes of its kernel.
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
