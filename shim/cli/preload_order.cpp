#include "preload_order.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt_whole.hpp>

#include "child_environment.hpp"

namespace {

constexpr const char* kPreload = "LD_PRELOAD";

// The loader accepts blanks as well as colons.
std::vector<std::string> libraries_in(const std::string& list) {
  std::vector<std::string> libraries;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find_first_of(" :", at), list.size());
    if (end > at) libraries.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return libraries;
}

bool is_driver(const std::string& library) {
  return std::filesystem::path(library).filename().string().starts_with("libcuda.so");
}

bool is_address_sanitizer(std::string_view library) {
  return library.starts_with("libasan.so") || library.starts_with("libclang_rt.asan");
}

}  // namespace

void add_preload(const std::string& library, ChildEnvironment& environment) {
  std::vector<std::string> libraries = libraries_in(environment.get(kPreload));
  if (std::find(libraries.begin(), libraries.end(), library) != libraries.end()) return;
  libraries.insert(std::find_if(libraries.begin(), libraries.end(), is_driver), library);
  environment.set(kPreload, fmt::format("{}", fmt::join(libraries, ":")));
}

void remove_preload(const std::string& library, ChildEnvironment& environment) {
  std::vector<std::string> libraries = libraries_in(environment.get(kPreload));
  std::erase(libraries, library);
  if (libraries.empty()) return environment.remove(kPreload);
  environment.set(kPreload, fmt::format("{}", fmt::join(libraries, ":")));
}

void allow_before_sanitizer(const std::string& library, bool software, ChildEnvironment& environment) {
  if (environment.get(kPreload) == library) environment.prepend("ASAN_OPTIONS", "verify_asan_link_order=0");
  if (software) environment.prepend("ASAN_OPTIONS", "intercept_tls_get_addr=0");
}

std::string sanitizer_line(const std::string& program, const std::vector<std::string>& needed,
                           const std::vector<std::string>& ours) {
  if (std::ranges::none_of(needed, is_address_sanitizer) || std::ranges::any_of(ours, is_address_sanitizer)) return "";
  return fmt::format(
      "{} uses AddressSanitizer: setting ASAN_OPTIONS so that the preload library can be loaded before its runtime",
      program);
}
