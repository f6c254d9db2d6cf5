#include "completion_command.hpp"

#include <cstdio>

#include <fmt/core.h>

int completion_command(const std::string& shell, const Command& root) {
  const std::string script = shell == "bash"  ? bash_completion(root)
                             : shell == "zsh" ? zsh_completion(root)
                                              : fish_completion(root);
  fmt::print("{}", script);
  return std::fflush(stdout) == 0 ? 0 : 1;
}
