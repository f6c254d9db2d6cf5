#include "ptx_image.hpp"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <string_view>

namespace tessera::softcuda {
namespace {

constexpr std::string_view kEntry = ".entry ";
constexpr std::string_view kWord = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

// PTX begins with a comment or with its version; other images begin with a number.
bool is_text(const char* image) { return std::strncmp(image, "//", 2) == 0 || std::strncmp(image, ".version", 8) == 0; }

}  // namespace

std::optional<std::string> entry_of_ptx(const void* image) {
  const char* const start = static_cast<const char*>(image);
  if (!is_text(start)) return std::nullopt;
  const std::string_view text(start);
  const std::size_t at = text.find(kEntry);
  if (at == text.npos) return std::nullopt;
  const std::string_view rest = text.substr(at + kEntry.size());
  return std::string(rest.substr(0, rest.find_first_not_of(kWord)));
}

std::string host_build_of(const std::string& entry) {
  Dl_info own;
  if (::dladdr(reinterpret_cast<const void*>(&entry_of_ptx), &own) == 0) return entry + ".so";
  return (std::filesystem::path(own.dli_fname).parent_path() / (entry + ".so")).string();
}

}  // namespace tessera::softcuda
