#include "run_command.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "driver_probe.hpp"
#include "folder_list.hpp"
#include "needed_libraries.hpp"
#include "preload_order.hpp"

namespace {

int refuse(int code, const std::string& why) {
  fmt::print(stderr, "tessera: {}\n", why);
  return code;
}

std::string complaint_of(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return fmt::format("--file-dir: {} is not a folder", folder);
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return fmt::format("--file-dir: {}: {}", folder, std::strerror(errno));
  }
  return "";
}

// Of the first folder that cannot be used.
std::string folder_complaint(const RunOptions& options) {
  for (const auto& setting : options.settings) {
    if (std::strcmp(setting.name, "file-dir") != 0) continue;
    for (const std::string& folder : folders_in(setting.value)) {
      const std::string complaint = complaint_of(folder);
      if (!complaint.empty()) return complaint;
    }
  }
  return "";
}

}  // namespace

void use_software_device(const Installation& installation, ChildEnvironment& environment) {
  environment.prepend("LD_LIBRARY_PATH", installation.software_folder().string());
}

std::string prepare(const Installation& installation, const RunOptions& options,
                    ChildEnvironment& environment) {
  const std::string library = installation.preload_library().string();
  std::error_code error;
  if (!std::filesystem::exists(library, error)) return fmt::format("{} is missing", library);
  if (library.find_first_of(" :") != std::string::npos) {
    return fmt::format("{}: a path with a blank or a colon cannot be preloaded; move the folder",
                       library);
  }
  if (options.software) {
    if (!std::filesystem::exists(installation.software_driver(), error)) {
      return fmt::format("{} is missing", installation.software_driver().string());
    }
    use_software_device(installation, environment);
  }
  options.apply(environment);
  add_preload(library, environment);
  allow_before_sanitizer(library, options.software, environment);
  return "";
}

int run_command(const Installation& installation, const RunOptions& options,
                const std::vector<std::string>& program) {
  if (program.empty()) {
    return refuse(2, "no program given; write: tessera run [options] -- program arguments");
  }
  std::string wrong = options.complaint();
  if (wrong.empty()) wrong = folder_complaint(options);
  if (!wrong.empty()) return refuse(2, wrong);
  if (!options.software && !has_usable_gpu()) {
    return refuse(1, "no usable GPU here; add --software to run on the software device, or ask "
                     "`tessera doctor` what is missing");
  }
  ChildEnvironment environment;
  wrong = prepare(installation, options, environment);
  if (!wrong.empty()) return refuse(1, wrong);
  const std::string line =
      sanitizer_line(program[0], needed_libraries(find_program(program[0], environment.get("PATH"))));
  if (!line.empty()) fmt::print(stderr, "tessera: {}\n", line);

  std::vector<std::string> words = program;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvpe(arguments[0], arguments.data(), environment.for_exec().data());
  const int code = errno == ENOENT ? 127 : 126;
  return refuse(code, fmt::format("{}: {}", program[0], std::strerror(errno)));
}
