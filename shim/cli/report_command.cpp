#include "report_command.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "last_known.hpp"
#include "report_page.hpp"

void ReportOptions::add_to(CLI::App& app) {
  app.add_option("history", history, "file written by `tessera run --history FILE`")->type_name("FILE")->required();
  app.add_option("--out", out, "output page (default: FILE with the ending .html)")->type_name("PAGE");
}

std::string write_report(const std::string& history, const std::string& out) {
  if (out == history) return fmt::format("{}: the page needs a different name", out);
  std::ifstream file(history, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return fmt::format("cannot read {}", history);
  RunHistory run;
  const auto known = last_known_in(text.str());
  if (const std::string problem = parse_history(known ? known->text : text.str(), run); !problem.empty()) {
    return fmt::format("{}: {}", history, problem);
  }
  if (known) fmt::print(stderr, "tessera: {}: {}\n", history, source_of(known->pid, history));
  std::ofstream page(out, std::ios::binary);
  page << report_page(run);
  page.close();
  return page.fail() ? fmt::format("cannot write {}", out) : "";
}

int report_command(const ReportOptions& options) {
  const std::string out =
      options.out.empty() ? std::filesystem::path(options.history).replace_extension(".html").string() : options.out;
  if (const std::string problem = write_report(options.history, out); !problem.empty()) {
    fmt::print(stderr, "tessera: {}\n", problem);
    return 2;
  }
  fmt::print("{}\n", out);
  return 0;
}
