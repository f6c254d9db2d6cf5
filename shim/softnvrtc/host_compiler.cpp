#include "host_compiler.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include "device_headers.hpp"

namespace softnvrtc {
namespace {

namespace fs = std::filesystem;

// Optimised as far as compile time allows. No operations are fused or reordered, so that a kernel gives the same bits
// on every machine. Strict aliasing is off, since kernels reinterpret memory, which CUDA's compiler tolerates. A frame
// must fit in the stack of one thread of a block. Kernels need no C++ runtime, and do not bring one into the program.
constexpr const char* kAlways[] = {"-x",
                                   "c++",
                                   "-O2",
                                   "-fPIC",
                                   "-shared",
                                   "-g0",
                                   "-ffp-contract=off",
                                   "-fno-math-errno",
                                   "-fno-strict-aliasing",
                                   "-fno-semantic-interposition",
                                   "-fno-gnu-unique",
                                   "-fvisibility=hidden",
                                   "-fno-exceptions",
                                   "-Wframe-larger-than=49152",
                                   "-Werror=frame-larger-than=49152",
                                   "-Wno-attributes",
                                   "-Wl,--as-needed"};
constexpr const char* kExpanding[] = {"-x", "c++", "-E", "-P", "-DSOFTNVRTC_KEEPS_GLOBAL"};

class PrivateFolder {
 public:
  PrivateFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "kernel-XXXXXX").string();
    if (!error && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

bool write_file(const fs::path& path, std::string_view text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  return file.good();
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The program's own environment, without the variables that would load a library into the compiler.
std::vector<char*> environment() {
  std::vector<char*> kept;
  for (char** line = environ; *line != nullptr; ++line) {
    const std::string_view text(*line);
    if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("LD_LIBRARY_PATH=")) {
      kept.push_back(*line);
    }
  }
  kept.push_back(nullptr);
  return kept;
}

std::optional<std::string> spawn(std::vector<std::string> words, const fs::path& log, pid_t& child) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  const int failed = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environment().data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) return std::nullopt;
  return "the host compiler " + words[0] + " could not be started: " + std::strerror(failed) + "\n";
}

// A program may reap its children elsewhere; then the existence of the object decides.
bool finished_well(pid_t child) {
  int state = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(child, &state, 0);
  } while (ended < 0 && errno == EINTR);
  return ended < 0 ? errno == ECHILD : WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

bool write_sources(const CompileRequest& request, const fs::path& folder) {
  bool written = write_file(folder / "source.cu", request.source);
  for (const DeviceHeader& header : device_headers()) {
    written = written && write_file(folder / header.path, header.text);
  }
  for (const auto& [name, text] : request.headers) {
    written = written && write_file(folder / "given" / name, text);
  }
  return written;
}

std::vector<std::string> command(const CompileRequest& request, std::span<const char* const> what,
                                 const fs::path& folder) {
  std::vector<std::string> words = {"c++"};
  words.insert(words.end(), what.begin(), what.end());
  words.insert(words.end(),
               {"-std=c++17", "-I" + (folder / "given").string(), "-I" + (folder / kHeaderFolder).string()});
  words.insert(words.end(), request.options.begin(), request.options.end());
  words.insert(words.end(), {"-include", (folder / kFirstHeader).string(), "-o", (folder / "made").string(),
                             (folder / "source.cu").string()});
  return words;
}

CompileResult make(const CompileRequest& request, std::span<const char* const> what) {
  CompileResult result;
  const PrivateFolder folder;
  if (folder.path().empty() || !write_sources(request, folder.path())) {
    result.log = "cannot write to a directory for temporary files\n";
    return result;
  }
  pid_t child = 0;
  const fs::path log = folder.path() / "log";
  if (const auto complaint = spawn(command(request, what, folder.path()), log, child)) {
    result.log = *complaint;
    return result;
  }
  const bool well = finished_well(child);
  result.log = read_file(log);
  result.object = read_file(folder.path() / "made");
  result.succeeded = well && !result.object.empty();
  return result;
}

}  // namespace

CompileResult compile(const CompileRequest& request) {
  CompileRequest linked = request;
  linked.options.emplace_back("-lm");
  return make(linked, kAlways);
}

CompileResult expand_macros(const CompileRequest& request) { return make(request, kExpanding); }

}  // namespace softnvrtc
