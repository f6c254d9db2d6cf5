#include "recover_command.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "last_known.hpp"
#include "stats_command.hpp"
#include "wrong_use.hpp"

namespace {

namespace fs = std::filesystem;

// Not free while the program lives.
class FileLock {
 public:
  explicit FileLock(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    is_free_ = file_ >= 0 && (::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
  }
  ~FileLock() {
    if (file_ >= 0) ::close(file_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool is_free() const { return is_free_; }

 private:
  const int file_;
  bool is_free_ = false;
};

// A file of statistics is a table unless its name ends in .json.
std::string in_form_of(const std::string& file, const std::string& text) {
  const bool is_table = !file.ends_with(".json") && nlohmann::json::parse(text).contains("tessera");
  return is_table ? table_of(text) : text;
}

// Complete under another name first: the last known state is not lost where the disk is full.
std::string write_whole(const std::string& file, const std::string& text) {
  const std::string next = file + ".recovered";
  std::ofstream out(next, std::ios::binary);
  out << text;
  out.close();
  std::error_code error;
  if (!out.fail() && fs::exists(file)) fs::permissions(next, fs::status(file).permissions(), error);
  if (!out.fail() && !error) fs::rename(next, file, error);
  if (!out.fail() && !error) return "";
  std::error_code ignored;
  fs::remove(next, ignored);
  return fmt::format("cannot write {}{}", next, error ? ": " + error.message() : "");
}

}  // namespace

void RecoverOptions::add_to(CLI::App& app) {
  app.add_option("files", files, "files of `tessera run --stats`, `--history` or `--timeline`")
      ->type_name("FILE")
      ->required();
  app.add_option("--out", out, "write the report there instead of replacing FILE")->type_name("FILE");
}

std::string recover(const std::string& file, const std::string& out, std::string& line) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream contents;
  contents << in.rdbuf();
  if (!in) return "cannot read the file; `tessera run --stats FILE` writes one, and so do --history and --timeline";
  const auto known = last_known_in(contents.str());
  if (!known) {
    if (contents.str().empty()) return "empty: no process of the run used the device, or it was killed at once";
    if (!nlohmann::json::accept(contents.str()))
      return "no report: name a file of `tessera run --stats`, --history or --timeline";
    line = "complete, nothing to recover";
    return "";
  }
  line = source_of(known->pid, file);
  const bool copies = !out.empty() && out != file;
  const std::string text = in_form_of(copies ? out : file, known->text);
  if (copies) return write_whole(out, text);
  const FileLock lock(file);
  if (!lock.is_free()) return fmt::format("process {} has not ended; give --out FILE", known->pid);
  return write_whole(file, text);
}

int recover_command(const RecoverOptions& options) {
  if (!options.out.empty() && options.files.size() > 1) {
    fmt::print(stderr, "tessera: --out takes the report of a single file\n");
    return kWrongUse;
  }
  int code = 0;
  for (const std::string& file : options.files) {
    std::string line;
    const std::string problem = recover(file, options.out, line);
    if (problem.empty()) {
      fmt::print("{}: {}\n", file, line);
    } else {
      fmt::print(stderr, "tessera: {}: {}\n", file, problem);
      code = kWrongUse;
    }
  }
  return code;
}
