// The exit code for an invalid option or value, as used by the option parser: scripts can distinguish it from a failed
// command.
//
// Thread safety: a constant.
#pragma once

inline constexpr int kWrongUse = 2;
