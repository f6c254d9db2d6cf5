// `tessera report`: renders a history as one page.
//
// Thread safety: none; for the main thread.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

struct ReportOptions {
  std::string history;  // file
  std::string out;      // "": the history's name with .html

  void add_to(CLI::App& app);
};

// Writes the page to `out`. Returns "" or the error.
std::string write_report(const std::string& history, const std::string& out);
// The exit code: 2 if the history cannot be read.
int report_command(const ReportOptions& options);
