// Two runs side by side as a self-contained HTML page: what differs between their statistics, and the plots of both
// with the same axes and colours.
//
// Every number is in the page exactly too (data-first, data-second), by its name in the statistics (data-compare).
//
// Thread safety: stateless.
#pragma once

#include <string>

#include "run_file.hpp"

// The plots are left out, with a sentence, unless both have a history.
std::string comparison_page(const RunFile& first, const RunFile& second);
