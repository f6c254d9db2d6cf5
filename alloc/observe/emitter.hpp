// One writer for tables and JSON: named figures with units, in groups.
//
// Why one: a number that is printed in two places by two pieces of code will one day differ.
//
// Thread safety: none; build one where it is used.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/units.hpp"

namespace tessera {

class Emitter {
 public:
  // Figures that follow belong to it. Names are words with underscores: JSON keys as they are,
  // in a table with blanks. REQUIRES: a group before the first figure.
  void group(std::string name);
  void count(std::string name, std::uint64_t value);
  void bytes(std::string name, Bytes value);
  // "stall" becomes the key stall_ns, and in a table "stall time".
  void time(std::string name, Nanoseconds value);
  void text(std::string name, std::string value);

  // For people: rounded, aligned, with the exact bytes beside. Empty groups are left out.
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
