#include "report_command.hpp"

#include <filesystem>
#include <fstream>

#include <fmt/core.h>

#include "comparison_page.hpp"
#include "report_page.hpp"
#include "run_file.hpp"
#include "wrong_use.hpp"

namespace {

namespace fs = std::filesystem;

std::string write_page(const std::string& text, const std::string& out) {
  std::ofstream page(out, std::ios::binary);
  page << text;
  page.close();
  return page.fail() ? fmt::format("cannot write {}", out) : "";
}

std::string default_page(const ReportOptions& options) {
  fs::path page(options.history);
  if (options.other.empty()) return page.replace_extension(".html").string();
  const std::string name = fmt::format("{}-{}.html", page.stem().string(), fs::path(options.other).stem().string());
  return page.replace_filename(name).string();
}

}  // namespace

void ReportOptions::add_to(CLI::App& app) {
  app.add_option("history", history, "file written by `tessera run --history FILE`")->type_name("FILE")->required();
  app.add_option("other", other, "the same of another run, to compare; statistics of both are enough for that")
      ->type_name("FILE");
  app.add_option("--out", out, "output page (default: the names of the files with the ending .html)")
      ->type_name("PAGE");
}

std::string write_report(const std::string& history, const std::string& out) {
  if (out == history) return fmt::format("{}: the page needs a different name", out);
  RunFile file;
  if (const std::string problem = read_run_file(history, file); !problem.empty()) return problem;
  if (!file.has_history)
    return fmt::format("{}: statistics only; `tessera run --history FILE` writes a history", history);
  return write_page(report_page(file.run), out);
}

std::string write_comparison(const std::string& first, const std::string& second, const std::string& out) {
  if (out == first || out == second) return fmt::format("{}: the page needs a different name", out);
  std::error_code missing;
  if (fs::equivalent(first, second, missing)) return fmt::format("{} and {} are the same file", first, second);
  RunFile a, b;
  for (const auto& [name, file] : {std::pair(&first, &a), std::pair(&second, &b)}) {
    if (const std::string problem = read_run_file(*name, *file); !problem.empty()) return problem;
  }
  return write_page(comparison_page(a, b), out);
}

int report_command(const ReportOptions& options) {
  const std::string out = options.out.empty() ? default_page(options) : options.out;
  const std::string problem = options.other.empty() ? write_report(options.history, out)
                                                    : write_comparison(options.history, options.other, out);
  if (!problem.empty()) {
    fmt::print(stderr, "tessera: {}\n", problem);
    return kWrongUse;
  }
  fmt::print("{}\n", out);
  return 0;
}
