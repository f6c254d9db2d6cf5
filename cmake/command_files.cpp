// Writes what describes the command `tessera`: a manual page for each of its commands, and completions for three
// shells, where the shells and `man` look below a folder "share". Runs while Tessera is built, and is not installed.
//
//   command_files SHARE
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "api/options.hpp"
#include "command_line.hpp"
#include "command_tree.hpp"
#include "completion_command.hpp"
#include "man_page.hpp"
#include "tessera/version.h"

namespace {

// What docs/tuning.md says about the library's options.
std::map<std::string, std::string> details_of_options() {
  std::map<std::string, std::string> details;
  for (const tessera::OptionEntry& entry : tessera::option_table()) {
    details[fmt::format("--{}", entry.name)] = fmt::format("{} {}", entry.help, entry.raising);
  }
  return details;
}

using Texts = std::map<std::string, std::string>;

void add_pages(const Command& command, const Command& root, const Texts& details, Texts& files) {
  // Other commands have options of the same names, but not those of a program.
  const bool is_run = command.path == "tessera run";
  files[fmt::format("man/man1/{}.1", man_page_name(command))] =
      man_page(command, root, is_run ? details : Texts{}, TESSERA_VERSION_STRING);
  for (const Command& below : command.commands) add_pages(below, root, details, files);
}

bool write(const std::filesystem::path& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream file(path);
  file << text;
  return static_cast<bool>(file.flush());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  CLI::App app("CUDA programs with a heap larger than the GPU", "tessera");
  const CommandLine commands(app);
  const Command root = command_tree(app);
  Texts files;
  add_pages(root, root, details_of_options(), files);
  files["bash-completion/completions/tessera"] = bash_completion(root);
  // Debian's zsh looks in the second for packages, and below /usr/local in the first.
  files["zsh/site-functions/_tessera"] = files["zsh/vendor-completions/_tessera"] = zsh_completion(root);
  files["fish/vendor_completions.d/tessera.fish"] = fish_completion(root);
  for (const auto& [name, text] : files) {
    if (write(std::filesystem::path(argv[1]) / name, text)) continue;
    fmt::print(stderr, "command_files: cannot write {}/{}\n", argv[1], name);
    return 1;
  }
  return 0;
}
