#include "modules.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "ptx_image.hpp"

namespace tessera::softcuda {
namespace {

Status no_module() { return Status(Code::kDriver, "no such module", CUDA_ERROR_INVALID_HANDLE); }

Status no_name(const char* name) {
  return Status(Code::kDriver, fmt::format("the module has no '{}'", name), CUDA_ERROR_NOT_FOUND);
}

Bytes size_of_symbol(void* symbol) {
  Dl_info info;
  void* entry = nullptr;
  const int found = ::dladdr1(symbol, &info, &entry, RTLD_DL_SYMENT);
  return Bytes(found != 0 && entry != nullptr ? static_cast<ElfW(Sym)*>(entry)->st_size : 0);
}

}  // namespace

Result<Module*> Modules::load(const void* image, Context* context) {
  if (const auto entry = entry_of_ptx(image)) {
    const std::string file = host_build_of(*entry);
    if (::access(file.c_str(), R_OK) == 0) return load_file(file.c_str(), context);
    return Status(Code::kDriver, fmt::format("PTX of '{}', and no host build of it", *entry),
                  CUDA_ERROR_NO_BINARY_FOR_GPU);
  }
  TESSERA_TRY_ASSIGN(const Bytes bytes, elf_length(image));
  TESSERA_TRY_ASSIGN(const ElfObject object, open_elf(image, bytes));
  auto module = std::make_unique<Module>();
  module->object = object;
  module->context = context;
  Module* const loaded = module.get();
  const MutexLock lock(mutex_);
  modules_.emplace(loaded, std::move(module));
  return loaded;
}

Result<Module*> Modules::load_file(const char* path, Context* context) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status(Code::kDriver, "no such file", CUDA_ERROR_FILE_NOT_FOUND);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  bytes.resize(bytes.size() + 64);  // a short file must not be read beyond its end
  return load(bytes.data(), context);
}

Status Modules::unload(Module* module) {
  const MutexLock lock(mutex_);
  const auto found = modules_.find(module);
  if (found == modules_.end()) return no_module();
  close(*module);
  modules_.erase(found);
  return Status::ok();
}

Result<Function*> Modules::function(Module* module, const char* name) {
  const MutexLock lock(mutex_);
  if (!modules_.contains(module)) return no_module();
  if (const auto known = module->functions.find(name); known != module->functions.end()) {
    return known->second.get();
  }
  const std::string symbol = std::string("tessera_kernel_") + name;
  const auto* const kernel =
      static_cast<const sim_kernel*>(::dlsym(module->object.handle, symbol.c_str()));
  if (kernel == nullptr || kernel->abi_version != SIM_KERNEL_ABI_VERSION) return no_name(name);
  auto function = std::make_unique<Function>();
  function->kernel = kernel;
  function->module = module;
  functions_.insert(function.get());
  return module->functions.emplace(name, std::move(function)).first->second.get();
}

Result<Range> Modules::global(Module* module, const char* name) {
  const MutexLock lock(mutex_);
  if (!modules_.contains(module)) return no_module();
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

Function* Modules::find(CUfunction handle) {
  auto* const function = reinterpret_cast<Function*>(handle);
  const MutexLock lock(mutex_);
  return functions_.contains(function) ? function : nullptr;
}

const int* Modules::attribute(const Function& function, int attribute) {
  const MutexLock lock(mutex_);
  const auto found = function.attributes.find(attribute);
  return found == function.attributes.end() ? nullptr : &found->second;
}

void Modules::set_attribute(Function& function, int attribute, int value) {
  const MutexLock lock(mutex_);
  function.attributes[attribute] = value;
}

void Modules::clear(const Context* context) {
  const MutexLock lock(mutex_);
  for (auto entry = modules_.begin(); entry != modules_.end();) {
    if (entry->second->context != context) {
      ++entry;
      continue;
    }
    close(*entry->second);
    entry = modules_.erase(entry);
  }
}

void Modules::close(Module& module) {
  for (const auto& [name, function] : module.functions) functions_.erase(function.get());
  for (const auto& [name, range] : module.globals) ranges_.remove(range.base, RangeKind::kGlobal);
  close_elf(module.object);
}

}  // namespace tessera::softcuda
