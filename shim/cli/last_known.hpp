// What the file of `--stats`, `--history` or `--timeline` holds until the program ends: the last known state of the
// report. A program that was killed leaves it there.
//
// Thread safety: stateless.
#pragma once

#include <optional>
#include <string>

struct LastKnown {
  std::string text;  // JSON, as the finished report would be
  long pid = 0;      // of the program
};

// The newest complete update among `contents`; none if the program has ended, or never got that far.
std::optional<LastKnown> last_known_in(const std::string& contents);
// "as of the last update of process 41, which was killed". A program holds a lock on its files for as long as it lives,
// also in a container, where it has another number.
std::string source_of(long pid, const std::string& file);
