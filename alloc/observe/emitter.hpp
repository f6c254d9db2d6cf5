// Emits statistics as a table and as JSON from one source: named values with units, in groups.
//
// A single emitter, because a number that is printed by two pieces of code will one day differ.
//
// Thread safety: none; use a local instance.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/units.hpp"

namespace tessera {

class Emitter {
 public:
  // Starts a group: the values added next belong to it. Names are words with underscores; JSON uses them as
  // keys, the table replaces underscores by blanks. REQUIRES: a group before the first value.
  void group(std::string name);
  void count(std::string name, std::uint64_t value);
  void bytes(std::string name, Bytes value);
  // "stall" becomes the JSON key stall_ns and the table label "stall time".
  void time(std::string name, Nanoseconds value);
  void text(std::string name, std::string value);

  // For people: rounded and aligned, with exact bytes beside. Empty groups are left out.
  std::string table() const;
  // For programs: one object per group, integers in bytes and nanoseconds. One line.
  std::string json() const;

 private:
  using Value = std::variant<std::uint64_t, Bytes, Nanoseconds, std::string>;
  struct Figure {
    std::string name;
    Value value;
  };
  struct Group {
    std::string name;
    std::vector<Figure> figures;
  };

  static bool is_time(const Figure& figure);
  void add(std::string name, Value value);

  std::vector<Group> groups_;
};

// "1.25 s", "310 ms", "42.0 us", "7 ns".
std::string rounded_time(Nanoseconds time);

}  // namespace tessera
