// The exit code for an option or a value that a command does not take, as the option parser has it: scripts
// tell it from work that failed.
//
// Thread safety: a constant.
#pragma once

inline constexpr int kWrongUse = 2;
