#include "modules.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string_view>

#include <fmt/core.h>

#include "base/log.hpp"
#include "ptx_image.hpp"

namespace tessera::softcuda {
namespace {

constexpr std::string_view kPrefix = "tessera_kernel_";  // the prefix that TESSERA_KERNEL adds to a name

Status no_handle() { return Status(Code::kDriver, "no such handle of this kind", CUDA_ERROR_INVALID_HANDLE); }

Status no_name(std::string_view name) {
  return Status(Code::kDriver, fmt::format("the module has no '{}'", name), CUDA_ERROR_NOT_FOUND);
}

Bytes size_of_symbol(void* symbol) {
  Dl_info info;
  void* entry = nullptr;
  const int found = ::dladdr1(symbol, &info, &entry, RTLD_DL_SYMENT);
  return Bytes(found != 0 && entry != nullptr ? static_cast<ElfW(Sym)*>(entry)->st_size : 0);
}

Result<ElfObject> open_file(const char* path);

Result<ElfObject> open_image(const void* image) {
  if (const auto entry = entry_of_ptx(image)) {
    const std::string file = host_build_of(*entry);
    if (::access(file.c_str(), R_OK) == 0) return open_file(file.c_str());
    return Status(Code::kDriver, fmt::format("PTX of '{}', without a host build of it", *entry),
                  CUDA_ERROR_NO_BINARY_FOR_GPU);
  }
  TESSERA_TRY_ASSIGN(const Bytes bytes, elf_length(image));
  return open_elf(image, bytes);
}

Result<ElfObject> open_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status(Code::kDriver, "no such file", CUDA_ERROR_FILE_NOT_FOUND);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  bytes.resize(bytes.size() + 64);  // padding, so that a short file is not read beyond its end
  return open_image(bytes.data());
}

const sim_kernel* kernel_of(const ElfObject& object, const std::string& name) {
  const std::string symbol = std::string(kPrefix) + name;
  const auto* const kernel = static_cast<const sim_kernel*>(::dlsym(object.handle, symbol.c_str()));
  const bool ours = kernel != nullptr && kernel->abi_version == SIM_KERNEL_ABI_VERSION;
  return ours ? kernel : nullptr;
}

std::unique_ptr<Module> module_on(const ElfObject& object, Context* context) {
  auto module = std::make_unique<Module>();
  module->object = object;
  module->context = context;
  module->names = exported_names(object, kPrefix);
  return module;
}

std::unique_ptr<Library> library_on(const ElfObject& object) {
  auto library = std::make_unique<Library>();
  library->object = object;
  library->names = exported_names(object, kPrefix);
  return library;
}

}  // namespace

// ---- loading -----------------------------------------------------------------------------------

Result<Module*> Modules::load(const void* image, Context* context) {
  TESSERA_TRY_ASSIGN(const ElfObject object, open_image(image));
  const MutexLock lock(mutex_);
  return add(object, context);
}

Result<Module*> Modules::load_file(const char* path, Context* context) {
  TESSERA_TRY_ASSIGN(const ElfObject object, open_file(path));
  const MutexLock lock(mutex_);
  return add(object, context);
}

Result<Library*> Modules::load_library(const void* image) {
  TESSERA_TRY_ASSIGN(const ElfObject object, open_image(image));
  const MutexLock lock(mutex_);
  return add(library_on(object));
}

Result<Library*> Modules::load_library_file(const char* path) {
  TESSERA_TRY_ASSIGN(const ElfObject object, open_file(path));
  const MutexLock lock(mutex_);
  return add(library_on(object));
}

Result<Module*> Modules::add(const ElfObject& object, Context* context) {
  auto module = module_on(object, context);
  const auto code = memory_.hold(context->device, bytes_);
  if (!code.is_ok()) {
    close_elf(object);
    return code.status();
  }
  module->code = code.value();
  Module* const added = module.get();
  modules_.emplace(added, std::move(module));
  return added;
}

Library* Modules::add(std::unique_ptr<Library> library) {
  Library* const added = library.get();
  libraries_.emplace(added, std::move(library));
  return added;
}

Status Modules::unload(CUmodule handle) {
  const MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(Module* const module, find_module(handle));
  if (module->library != nullptr) return no_handle();
  close(*module);
  modules_.erase(module);
  return Status::ok();
}

Status Modules::unload(CUlibrary handle) {
  const MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(Library* const library, find_library(handle));
  for (const auto& [context, module] : library->modules) {
    close(*module);
    modules_.erase(module);
  }
  for (const auto& [name, kernel] : library->kernels) kernels_.erase(kernel.get());
  close_elf(library->object);
  libraries_.erase(library);
  return Status::ok();
}

void Modules::clear(const Context* context) {
  const MutexLock lock(mutex_);
  for (auto entry = modules_.begin(); entry != modules_.end();) {
    Module& module = *entry->second;
    if (module.context != context) {
      ++entry;
      continue;
    }
    if (module.library != nullptr) module.library->modules.erase(context);
    close(module);
    entry = modules_.erase(entry);
  }
}

void Modules::close(Module& module) {
  for (const auto& [name, function] : module.functions) functions_.erase(function.get());
  for (const auto& [name, range] : module.globals) ranges_.remove(range.base, RangeKind::kGlobal);
  if (const Status status = memory_.let_go(module.code); !status.is_ok()) {
    log_line(LogLevel::kWarning, "memory of a module was not released: {}", status.to_string());
  }
  close_elf(module.object);
}

// ---- contents ----------------------------------------------------------------------------------

Result<Function*> Modules::function(CUmodule module, const char* name) {
  const MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(Module* const in, find_module(module));
  return function_in(*in, name);
}

Result<Kernel*> Modules::kernel(CUlibrary library, const char* name) {
  const MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(Library* const in, find_library(library));
  return kernel_in(*in, name);
}

Result<std::vector<Function*>> Modules::functions(CUmodule module) {
  const MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(Module* const in, find_module(module));
  std::vector<Function*> all;
  for (const std::string& name : in->names) {
    TESSERA_TRY_ASSIGN(Function* const function, function_in(*in, name));
    all.push_back(function);
  }
  return all;
}

Result<std::vector<Kernel*>> Modules::kernels(CUlibrary library) {
  const MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(Library* const in, find_library(library));
  std::vector<Kernel*> all;
  for (const std::string& name : in->names) {
    TESSERA_TRY_ASSIGN(Kernel* const kernel, kernel_in(*in, name));
    all.push_back(kernel);
  }
  return all;
}

Result<Range> Modules::global(CUmodule handle, const char* name) {
  const MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(Module* const module, find_module(handle));
  if (const auto known = module->globals.find(name); known != module->globals.end()) {
    return known->second;
  }
  void* const variable = ::dlsym(module->object.handle, name);
  if (variable == nullptr) return no_name(name);
  Range range{.base = Address(reinterpret_cast<std::uint64_t>(variable)),
              .bytes = size_of_symbol(variable),
              .kind = RangeKind::kGlobal};
  range.context = module->context;
  if (!range.bytes || !ranges_.add(range)) return no_name(name);
  module->globals.emplace(name, range);
  return range;
}

Result<Module*> Modules::module_of(CUlibrary library, Context& context) {
  const MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(Library* const in, find_library(library));
  return module_in(*in, context);
}

Result<Function*> Modules::function_of(CUkernel handle, Context& context) {
  auto* const kernel = reinterpret_cast<Kernel*>(handle);
  const MutexLock lock(mutex_);
  if (!kernels_.contains(kernel)) return no_handle();
  return function_in(*kernel, context);
}

Result<Function*> Modules::launchable(CUfunction handle, Context& context) {
  auto* const function = reinterpret_cast<Function*>(handle);
  auto* const kernel = reinterpret_cast<Kernel*>(handle);
  const MutexLock lock(mutex_);
  if (functions_.contains(function)) return function;
  if (kernels_.contains(kernel)) return function_in(*kernel, context);
  return no_handle();
}

Result<Module*> Modules::find_module(CUmodule handle) {
  auto* const module = reinterpret_cast<Module*>(handle);
  if (!modules_.contains(module)) return no_handle();
  return module;
}

Result<Library*> Modules::find_library(CUlibrary handle) {
  auto* const library = reinterpret_cast<Library*>(handle);
  if (!libraries_.contains(library)) return no_handle();
  return library;
}

Result<Function*> Modules::function_in(Module& module, const std::string& name) {
  if (const auto known = module.functions.find(name); known != module.functions.end()) {
    return known->second.get();
  }
  auto function = std::make_unique<Function>();
  function->kernel = kernel_of(module.object, name);
  function->module = &module;
  if (function->kernel == nullptr) return no_name(name);
  if (module.library != nullptr) {
    TESSERA_TRY_ASSIGN(function->of, kernel_in(*module.library, name));
  }
  functions_.insert(function.get());
  return module.functions.emplace(name, std::move(function)).first->second.get();
}

Result<Kernel*> Modules::kernel_in(Library& library, const std::string& name) {
  if (const auto known = library.kernels.find(name); known != library.kernels.end()) {
    return known->second.get();
  }
  auto kernel = std::make_unique<Kernel>();
  kernel->kernel = kernel_of(library.object, name);
  kernel->library = &library;
  if (kernel->kernel == nullptr) return no_name(name);
  kernels_.insert(kernel.get());
  return library.kernels.emplace(name, std::move(kernel)).first->second.get();
}

Result<Module*> Modules::module_in(Library& library, Context& context) {
  if (const auto known = library.modules.find(&context); known != library.modules.end()) {
    return known->second;
  }
  TESSERA_TRY_ASSIGN(const ElfObject object, open_again(library.object));
  TESSERA_TRY_ASSIGN(Module* const added, add(object, &context));
  added->library = &library;
  library.modules.emplace(&context, added);
  return added;
}

Result<Function*> Modules::function_in(Kernel& kernel, Context& context) {
  TESSERA_TRY_ASSIGN(Module* const module, module_in(*kernel.library, context));
  return function_in(*module, kernel.kernel->name);
}

Function* Modules::find(CUfunction handle) {
  auto* const function = reinterpret_cast<Function*>(handle);
  const MutexLock lock(mutex_);
  return functions_.contains(function) ? function : nullptr;
}

Kernel* Modules::find(CUkernel handle) {
  auto* const kernel = reinterpret_cast<Kernel*>(handle);
  const MutexLock lock(mutex_);
  return kernels_.contains(kernel) ? kernel : nullptr;
}

// ---- attributes --------------------------------------------------------------------------------

std::optional<int> Modules::attribute(const Function& function, int attribute) {
  {
    const MutexLock lock(mutex_);
    const auto found = function.attributes.find(attribute);
    if (found != function.attributes.end()) return found->second;
  }
  if (function.of == nullptr) return std::nullopt;
  const auto device = static_cast<CUdevice>(function.module->context->device.value());
  return this->attribute(*function.of, device, attribute);
}

std::optional<int> Modules::attribute(const Kernel& kernel, CUdevice device, int attribute) {
  const MutexLock lock(mutex_);
  const auto found = kernel.attributes.find({device, attribute});
  if (found == kernel.attributes.end()) return std::nullopt;
  return found->second;
}

void Modules::set_attribute(Function& function, int attribute, int value) {
  const MutexLock lock(mutex_);
  function.attributes[attribute] = value;
}

void Modules::set_attribute(Kernel& kernel, CUdevice device, int attribute, int value) {
  const MutexLock lock(mutex_);
  kernel.attributes[{device, attribute}] = value;
}

}  // namespace tessera::softcuda
