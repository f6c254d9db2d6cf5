#include "installation.hpp"

#include <system_error>

Installation find_installation() {
  std::error_code error;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {std::filesystem::current_path(error)};
  return {executable.parent_path().parent_path()};
}
