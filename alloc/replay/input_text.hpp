// The text of a file that a user names: plain or compressed, from a disk, a pipe, or standard input.
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"

namespace tessera {

struct InputText {
  std::string text;                // UTF-8 without a mark
  std::vector<std::string> notes;  // what is missing of it, each a line for the user
};

// "-" is standard input. Reads to the end, once, so a FIFO serves as well.
// Errors: kIo when it cannot be read; kInvalidArgument when it is empty or something else than text, and says what;
// those of unpack() (packed_text.hpp). All name the file.
Result<InputText> read_input(const std::string& path);

}  // namespace tessera
