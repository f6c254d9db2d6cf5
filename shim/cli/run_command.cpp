#include "run_command.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/core.h>

#include "driver_probe.hpp"
#include "folder_list.hpp"
#include "needed_libraries.hpp"
#include "preload_obstacle.hpp"
#include "preload_order.hpp"
#include "presets.hpp"

namespace {

// Identifies the processes of one run: data that they find in a file when they open it is from their own run.
constexpr const char* kRun = "TESSERA_RUN";

int refuse(int code, const std::string& why) {
  fmt::print(stderr, "tessera: {}\n", why);
  return code;
}

std::string complaint_of(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return fmt::format("--file-dir: {} is not a directory; create it, or name one on a local disk", folder);
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return fmt::format("--file-dir: {}: {}; name a directory that you may write", folder, std::strerror(errno));
  }
  return "";
}

// The problem with the first unusable folder; "" if there is none.
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

// A terminal shows what the heap has and did, once for all ranks of a job; a log or a pipe gets what the program
// writes, and no more.
void choose_summary(const RunOptions& options, ChildEnvironment& environment) {
  constexpr const char* kSummary = "TESSERA_SUMMARY";
  if (environment.get(kSummary).empty() && !options.is_silent() && ::isatty(STDERR_FILENO) == 1) {
    environment.set(kSummary, "first");
  }
}

// Why the program was not started, and what may help.
std::string start_complaint(const std::string& program, int error) {
  const std::string why = fmt::format("{}: {}", program, std::strerror(error));
  std::error_code unknown;
  if (error == EACCES && std::filesystem::is_directory(program, unknown))
    return why + "; it is a folder: name a program";
  if (error == EACCES) return why + "; `chmod +x` makes a file a program, `tessera run -- python FILE` runs a script";
  if (error != ENOENT) return why;
  if (program.find('/') == std::string::npos) return why + "; no folder of PATH has it: give its path";
  if (!std::filesystem::exists(program, unknown)) return why + "; check the path";
  return why + "; the file is there, but not the interpreter that it names: `head -1` or `ldd` shows which";
}

bool is_output(const char* name) {
  for (const char* const output : {"stats", "trace", "timeline", "history"}) {
    if (std::strcmp(name, output) == 0) return true;
  }
  return false;
}

// Why the file of an option cannot be written, and what may help.
std::string output_trouble(const std::string& option, const std::string& path, int error) {
  const char* const next = error == ENOSPC || error == EDQUOT ? "free space there, or name a file on another disk"
                                                              : "name a file in a folder that you may write";
  return fmt::format("--{} {}: {}; {}", option, path, std::strerror(error), next);
}

// Creates the file, and removes what an earlier run left in it. For a name with %p only the folder is checked.
std::string make_output(const std::string& option, const std::string& path, bool empty_it) {
  const std::filesystem::path named(path);
  std::error_code error;
  const std::filesystem::path folder = named.has_parent_path() ? named.parent_path() : std::filesystem::path(".");
  if (folder.string().find("%p") != std::string::npos) return "";
  if (!std::filesystem::is_directory(folder, error)) {
    return fmt::format("--{} {}: {} is not a directory; create it, or name a file elsewhere", option, path,
                       folder.string());
  }
  if (path.find("%p") != std::string::npos) {
    if (::access(folder.c_str(), W_OK | X_OK) == 0) return "";
    return output_trouble(option, path, errno);
  }
  struct stat facts {};
  const bool is_there = ::stat(path.c_str(), &facts) == 0;
  if (is_there && S_ISDIR(facts.st_mode)) return fmt::format("--{}: {} is a folder; name a file in it", option, path);
  if (is_there && !S_ISREG(facts.st_mode)) return "";  // a pipe, a terminal
  // A file locked by another process is left to that process.
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return output_trouble(option, path, errno);
  std::string wrong;
  if (empty_it && ::flock(file, LOCK_EX | LOCK_NB) == 0 && ::ftruncate(file, 0) != 0) {
    wrong = output_trouble(option, path, errno);
  }
  ::close(file);
  return wrong;
}

// Descriptors of this process rather than files.
bool is_stream(const std::string& path) {
  return path == "-" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/") || path == "/dev/stdout" ||
         path == "/dev/stderr";
}

// Under another `tessera run`, an output file passed on by it is shared by the processes of that run.
std::string output_complaint(const RunOptions& options, const ChildEnvironment& ours) {
  const bool inner = !ours.get(kRun).empty();
  for (const auto& setting : options.settings) {
    if (setting.value.empty() || !is_output(setting.name) || is_stream(setting.value)) continue;
    const bool passed_on = inner && ours.get(setting.variable) == std::filesystem::absolute(setting.value);
    const std::string complaint = make_output(setting.name, setting.value, !passed_on);
    if (!complaint.empty()) return complaint;
  }
  return "";
}

std::string missing_file(const std::string& path) {
  return path + " is missing: the installation is incomplete; install Tessera again";
}

// Not where Tessera leaves the program alone.
void set_presets(const RunOptions& options, const std::vector<std::string>& program, bool says,
                 ChildEnvironment& environment) {
  const std::string off = environment.get("TESSERA_OFF");
  if (options.no_presets || !(off.empty() || off == "0" || off == "false")) return;
  const std::vector<PresetOutcome> outcomes = choose_presets(environment, program, options.torch_choice());
  apply_presets(outcomes, environment);
  const std::string listeners = torch_listener_folder(environment);
  if (environment.get("TESSERA_TORCH_LISTENERS").empty() && !listeners.empty()) {
    environment.set("TESSERA_TORCH_LISTENERS", listeners);
  }
  if (!says || options.is_silent()) return;
  for (const std::string& line : preset_lines(outcomes)) fmt::print(stderr, "tessera: {}\n", line);
}

}  // namespace

void use_software_device(const Installation& installation, ChildEnvironment& environment) {
  environment.prepend("LD_LIBRARY_PATH", installation.software_folder().string());
}

std::string prepare(const Installation& installation, const RunOptions& options, ChildEnvironment& environment) {
  const std::string library = installation.preload_library().string();
  std::error_code error;
  if (!std::filesystem::exists(library, error)) return missing_file(library);
  if (library.find_first_of(" :") != std::string::npos) {
    return fmt::format("{}: a path with a space or a colon cannot be preloaded; move the installation", library);
  }
  if (options.software) {
    if (!std::filesystem::exists(installation.software_driver(), error)) {
      return missing_file(installation.software_driver().string());
    }
    use_software_device(installation, environment);
  }
  options.apply(environment);
  add_preload(library, environment);
  allow_before_sanitizer(library, options.software, environment);
  environment.set(kRun, "1");
  return "";
}

int run_command(const Installation& installation, const RunOptions& options, const std::vector<std::string>& program) {
  if (program.empty()) {
    return refuse(2, "no program given; usage: tessera run [options] -- program arguments");
  }
  std::string wrong = options.complaint();
  if (wrong.empty()) wrong = folder_complaint(options);
  if (wrong.empty()) wrong = output_complaint(options, ChildEnvironment());
  if (!wrong.empty()) return refuse(2, wrong);
  const GpusHere gpus = options.software ? GpusHere{true, true} : probe_gpus();
  if (!gpus.usable) {
    return refuse(1,
                  "no usable GPU found; use --software to run on the software device, or run "
                  "`tessera doctor` to find out what is missing");
  }
  ChildEnvironment environment;
  wrong = prepare(installation, options, environment);
  if (!wrong.empty()) return refuse(1, wrong);
  choose_summary(options, environment);
  const std::string path = find_program(program[0], environment.get("PATH"));
  const std::vector<std::string> needed = needed_libraries(path);
  if (gpus.manageable && ::access(path.c_str(), X_OK) == 0) {
    set_presets(options, program, may_use_frameworks(program, path, needed), environment);
  }
  for (const std::string& line :
       {preload_obstacle(path, needed),
        sanitizer_line(program[0], needed, needed_libraries(installation.preload_library().string()))}) {
    if (!line.empty()) fmt::print(stderr, "tessera: {}\n", line);
  }
  // musl's loader ends the program where it cannot load a library.
  if (needs_musl(needed)) remove_preload(installation.preload_library().string(), environment);

  std::vector<std::string> words = program;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvpe(arguments[0], arguments.data(), environment.for_exec().data());
  const int code = errno == ENOENT ? 127 : 126;
  return refuse(code, start_complaint(program[0], errno));
}
