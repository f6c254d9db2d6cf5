// The text of a file named by the user: plain or compressed, from a disk, a pipe, or standard input.
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"

namespace tessera {

struct InputText {
  std::string text;                // UTF-8 without a byte order mark
  std::vector<std::string> notes;  // what is missing from it, one line each, for the user
};

// "-" is standard input. Reads to the end, once, so a FIFO also works. Errors: kIo when it cannot be read;
// kInvalidArgument when it is empty or not text, naming its kind; those of unpack() (packed_text.hpp). All name the
// file.
Result<InputText> read_input(const std::string& path);

}  // namespace tessera
