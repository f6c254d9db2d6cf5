// Ticks of a plot axis: round values from 0 upwards, few enough to be readable.
//
// REQUIRES: `high` > 0, in the unit of the plot. Thread safety: stateless.
#pragma once

#include <string_view>

#include "svg_plot.hpp"

// "500 us", "20 ms", "5 s".
Ticks ticks_of_seconds(double high);
// "512 MiB", "2 GiB", each with `per` after the unit.
Ticks ticks_of_bytes(double high, std::string_view per = "");
// "25 %" of 1.
Ticks ticks_of_shares(double high);
