#include "base/call_stack.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include <fmt/core.h>

namespace tessera {
namespace {

constexpr int kMostFrames = 32;
constexpr std::size_t kMostOfName = 120;  // the full name of a template instance is not useful

const void* object_of(const void* code) {
  Dl_info info{};
  return ::dladdr(code, &info) != 0 ? info.dli_fbase : nullptr;
}

std::string readable(const char* symbol) {
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(symbol, nullptr, nullptr, &failed), std::free);
  std::string name = failed == 0 ? plain.get() : symbol;
  if (name.size() > kMostOfName) name.replace(kMostOfName, std::string::npos, "...");
  return name;
}

std::string describe(const void* code) {
  Dl_info info{};
  if (::dladdr(code, &info) == 0 || info.dli_fname == nullptr) return fmt::format("{}", code);
  const std::string path = info.dli_fname;
  const auto offset = reinterpret_cast<std::uintptr_t>(code) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  const std::string place = fmt::format("{}+{:#x}", path.substr(path.rfind('/') + 1), offset);
  if (info.dli_sname == nullptr) return place;
  return fmt::format("{} ({})", readable(info.dli_sname), place);
}

}  // namespace

std::vector<std::string> call_stack() {
  void* frames[kMostFrames];
  const int count = ::backtrace(frames, kMostFrames);
  const void* const here = object_of(reinterpret_cast<const void*>(&call_stack));
  int first = 0;
  while (first < count && object_of(frames[first]) == here) ++first;
  const bool in_program = count > 0 && object_of(frames[count - 1]) == here;
  std::vector<std::string> stack;
  for (int i = in_program || first == count ? 0 : first; i < count; ++i) {
    stack.push_back(describe(frames[i]));
  }
  return stack;
}

}  // namespace tessera
