// The history of a run as one page of HTML that needs nothing else, not even a network or a script.
//
// Plots stand under each other over one axis of time, so that what happens together is seen together.
// Every sum is in the page as a number too (data-sum), beside the statistic it must equal (data-figure).
//
// Thread safety: stateless.
#pragma once

#include <string>

#include "run_history.hpp"

std::string report_page(const RunHistory& history);
