// The position of the preload library among other preloaded libraries.
//
// Thread safety: pure functions of their arguments.
#pragma once

#include <string>
#include <vector>

class ChildEnvironment;

// Appends `library` to LD_PRELOAD, since earlier libraries are searched first: a tool that wraps driver calls is then
// called by the program, and calls ours. A thin loader of the driver goes after ours, which has to call it. Does
// nothing if `library` is listed already.
void add_preload(const std::string& library, ChildEnvironment& environment);

// Takes `library` from LD_PRELOAD.
void remove_preload(const std::string& library, ChildEnvironment& environment);

// Programs built with AddressSanitizer refuse to start if another library is loaded before its runtime, since that
// library might define memory and string functions. Ours defines none, so the check is turned off, except when there
// are other libraries in LD_PRELOAD. REQUIRES: add_preload() was called. `software`: the software device unloads
// kernels, so the leak checker must not look for their memory.
void allow_before_sanitizer(const std::string& library, bool software, ChildEnvironment& environment);

// The line to print for the user who starts a program that needs these libraries, or "". `ours`: the libraries that the
// preload library needs. If it was built with the sanitizer itself, there is nothing to print.
std::string sanitizer_line(const std::string& program, const std::vector<std::string>& needed,
                           const std::vector<std::string>& ours);
