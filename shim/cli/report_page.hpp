// The history of a run as a self-contained HTML page, without network access or scripts.
//
// Plots are stacked over one time axis, so that simultaneous events line up. Every sum is in the page as a number too
// (data-sum), next to the statistic that it must equal (data-figure).
//
// Thread safety: stateless.
#pragma once

#include <string>

#include "run_history.hpp"

std::string report_page(const RunHistory& history);
