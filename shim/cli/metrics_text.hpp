// The figures of running programs as OpenMetrics text, which Prometheus and other collectors read.
//
// Names follow Prometheus' conventions: base units, `_total` for counters, labels for what is added up. A figure that
// has no name here yet is published all the same, as `tessera_GROUP_FIGURE` of an unknown type.
//
// Thread safety: a function of its values.
#pragma once

#include <string>
#include <vector>

#include "top_view.hpp"

inline constexpr char kMetricsType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

// `now_ns`: CLOCK_MONOTONIC, for the age of the figures.
std::string metrics_text(const std::vector<TopRow>& rows, std::uint64_t now_ns);
