// `tessera report`: renders a history as one page, or compares two runs on one.
//
// Thread safety: none; for the main thread.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

struct ReportOptions {
  std::string history;  // file
  std::string other;    // file of the run to compare with; "": none
  std::string out;      // "": the names of the files with .html

  void add_to(CLI::App& app);
};

// Writes the page to `out`. Returns "" or the error.
std::string write_report(const std::string& history, const std::string& out);
// The same for a page about both runs. Two names of one file are an error.
std::string write_comparison(const std::string& first, const std::string& second, const std::string& out);
// The exit code: 2 if the history cannot be read.
int report_command(const ReportOptions& options);
