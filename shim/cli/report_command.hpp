// `tessera report`: a history as one page to look at.
//
// Thread safety: none; for the main thread.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

struct ReportOptions {
  std::string history;  // file
  std::string out;      // "" is the history's name with .html

  void add_to(CLI::App& app);
};

// "" and the page is at `out`, or why not.
std::string write_report(const std::string& history, const std::string& out);
// The exit code: 2 when there is no history to be read.
int report_command(const ReportOptions& options);
