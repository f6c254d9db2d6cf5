// A file as a killed program leaves it, composed by hand: see alloc/api/last_known.hpp.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/core.h>

struct LastKnownFile {
  std::string contents = std::string(4096, '\0');

  // Update `number` of process 2^22 + 1, which no kernel starts; its text follows what is there.
  LastKnownFile& add(std::uint64_t number, const std::string& text) {
    std::string line = fmt::format("{{\"tessera_last_known\":{},\"pid\":{},\"at\":{},\"bytes\":{}}}", number,
                                   (1 << 22) + 1, contents.size(), text.size());
    line.resize(127, ' ');
    contents.replace(number % 2 * 128, 128, line + "\n");
    contents += text;
    return *this;
  }
};
