#include "last_known.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLine = 128;  // LastKnown::kLine of the library; a file begins with two such lines

struct Line {
  std::uint64_t number = 0;
  long pid = 0;
  std::string_view text;
};

std::optional<Line> line_at(std::string_view contents, std::size_t at) {
  if (contents.size() < at + kLine) return std::nullopt;
  const Json line = Json::parse(contents.substr(at, kLine), nullptr, false);
  if (!line.is_object()) return std::nullopt;
  for (const char* name : {"tessera_last_known", "pid", "at", "bytes"}) {
    if (!line.contains(name) || !line[name].is_number_unsigned()) return std::nullopt;
  }
  const auto begin = line["at"].get<std::size_t>(), bytes = line["bytes"].get<std::size_t>();
  if (begin > contents.size() || bytes > contents.size() - begin) return std::nullopt;
  return Line{line["tessera_last_known"].get<std::uint64_t>(), line["pid"].get<long>(), contents.substr(begin, bytes)};
}

// Without taking a lock, which a program that starts now would find taken.
bool is_locked(const std::string& file) {
  struct stat facts {};
  if (::stat(file.c_str(), &facts) != 0) return false;
  const std::string inode = fmt::format(":{} ", facts.st_ino);
  std::ifstream locks("/proc/locks");  // "1: FLOCK  ADVISORY  WRITE 41 fe:00:1234 0 EOF"
  for (std::string line; std::getline(locks, line);) {
    if (line.find("FLOCK") != std::string::npos && line.find(inode) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::optional<LastKnown> last_known_in(const std::string& contents) {
  std::array<std::optional<Line>, 2> lines = {line_at(contents, 0), line_at(contents, kLine)};
  if (!lines[0] || (lines[1] && lines[1]->number > lines[0]->number)) std::swap(lines[0], lines[1]);
  for (const auto& line : lines) {
    // The machine may have failed too, and the disk have an older text than the line.
    if (line && Json::accept(line->text)) return LastKnown{std::string(line->text), line->pid};
  }
  return std::nullopt;
}

std::string source_of(long pid, const std::string& file) {
  return fmt::format("as of the last update of process {}, which {}", pid, is_locked(file) ? "runs" : "was killed");
}
