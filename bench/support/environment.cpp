#include "environment.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/check.hpp"

namespace tessera::bench {
namespace {

// The rest of the first line of `path` that starts with `key`, without the separator.
std::string value_in(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto at = line.find_first_not_of(" \t:=\"", key.size());
    if (at == std::string::npos) return "";
    return line.substr(at, line.find_last_not_of("\" \t") - at + 1);
  }
  return "unknown";
}

std::string first_line_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::array<char, 256> line{};
  if (!pipe || std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) == nullptr) {
    return "unknown";
  }
  std::string text(line.data());
  return text.substr(0, text.find('\n'));
}

std::string kernel() {
  utsname name{};
  return ::uname(&name) == 0 ? fmt::format("{} {}", name.sysname, name.release) : "unknown";
}

// "ext4 on /dev/vda": the mount with the directory's device number.
std::string disk(const std::string& directory) {
  struct stat about {};
  if (::stat(directory.c_str(), &about) != 0) return "unknown";
  const std::string device = fmt::format("{}:{}", major(about.st_dev), minor(about.st_dev));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, number, separator, type, source;
    fields >> id >> parent >> number;
    if (number != device) continue;
    while (fields >> separator && separator != "-") {
    }
    fields >> type >> source;
    return fmt::format("{} on {}", type, source);
  }
  return "unknown";
}

std::string date() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 32> text{};
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &utc);
  return text.data();
}

// Results, and the tables made from them, are excluded: writing them does not change the measured code.
std::string commit(const std::string& build_directory) {
  const std::string git = fmt::format("git -C '{}' ", build_directory);
  const std::string changes =
      first_line_of(git +
                    "status --porcelain -- ':(top)' ':(top,exclude)bench/results' ':(top,exclude)docs/benchmarks.md' "
                    "2>/dev/null | wc -l");
  return first_line_of(git + "describe --always 2>/dev/null") + (changes == "0" ? "" : "-dirty");
}

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif

}  // namespace

Environment read_environment(const std::string& build_directory, const std::string& data_directory) {
  Environment facts = {
      {"cpu", fmt::format("{} x {}", value_in("/proc/cpuinfo", "model name"), std::thread::hardware_concurrency())},
      {"memory", value_in("/proc/meminfo", "MemTotal")},
      {"kernel", kernel()},
  };
  if (!data_directory.empty()) facts.emplace_back("disk", disk(data_directory));
  facts.emplace_back("compiler", kCompiler);
  facts.emplace_back("commit", commit(build_directory));
  facts.emplace_back("build", kTesseraChecked ? "with assertions" : "release, no assertions");
  facts.emplace_back("date", date());
  return facts;
}

void print(const Environment& environment) {
  for (const auto& [name, value] : environment) fmt::print("{:<10}{}\n", name, value);
  fmt::print("\n");
}

nlohmann::ordered_json to_json(const Environment& environment) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, value] : environment) object[name] = value;
  return object;
}

bool may_measure(bool is_measurable) {
  if (is_measurable) return true;
  fmt::print(stderr,
             "This build has assertions, or benchmarks that are not optimised, so its times are meaningless. Use"
             " `make bench`, the release preset with -DTESSERA_OPTIMISED_BENCH=ON, or --smoke for a smoke test.\n");
  return false;
}

}  // namespace tessera::bench
