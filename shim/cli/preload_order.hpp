// Where the preload library stands among other libraries that go into every program.
//
// Thread safety: pure functions of their arguments.
#pragma once

#include <string>
#include <vector>

class ChildEnvironment;

// Puts `library` behind what is in LD_PRELOAD, since that is to be asked first: a tool that wraps calls of the driver
// is then called by the program, and calls ours. A thin loader of the driver goes behind it: ours is to call that.
// Nothing if it is there.
void add_preload(const std::string& library, ChildEnvironment& environment);

// Programs that AddressSanitizer checks refuse to start when another library is loaded before its runtime: that one
// might have memory and string functions of its own. Ours has none, so they are told not to mind; not where there are
// libraries of others in LD_PRELOAD. REQUIRES: add_preload() was called.
// `software`: the software device unloads kernels, and the leak checker must not look for memory of theirs.
void allow_before_sanitizer(const std::string& library, bool software, ChildEnvironment& environment);

// What is said to the person who starts a program that needs these libraries, or "". `ours`: what the preload library needs.
// Where it was built with the sanitizer itself, there is nothing to say.
std::string sanitizer_line(const std::string& program, const std::vector<std::string>& needed, const std::vector<std::string>& ours);
