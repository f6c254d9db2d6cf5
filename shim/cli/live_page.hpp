// The page of `tessera top --web`: the programs of this user, what they share of the machine, and of each the plots
// that `tessera report` draws, for the last minutes.
//
// One file that loads nothing. Its script asks for the changing part, which is drawn here: there is no second drawing
// code.
//
// Thread safety: stateless.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run_history.hpp"
#include "share_view.hpp"
#include "top_view.hpp"

struct LiveProgram {
  TopRow row;
  std::optional<RunHistory> history;  // none at first
};

struct LiveView {
  std::string machine;                // its name
  std::uint64_t now_ns = 0;           // CLOCK_MONOTONIC, for the age of the figures
  std::vector<LiveProgram> programs;  // in order of their process ids
  ShareView shares;
};

// The changing part.
std::string live_view_html(const LiveView& view);
// The whole page with it. The script is allowed by `nonce`, which is random; it asks for "view" with the token that the
// page's own address has, each `interval` seconds.
std::string live_page(const LiveView& view, double interval, const std::string& nonce);
