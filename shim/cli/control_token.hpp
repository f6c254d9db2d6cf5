// The token that requests to a port have to carry, in a file that only its user can read.
//
// Thread safety: none.
#pragma once

#include <string>

struct ControlToken {
  std::string text;
  std::string problem;  // "" on success
};

// 48 hexadecimal digits that nothing can guess; "" where the system has none, with errno.
std::string random_token();
// Reads it from the file; makes a random one where there is no file yet. A file that others may read, that is no plain
// file of this user, or does not have one line of 16 to 256 visible characters, is refused.
ControlToken control_token(const std::string& path);
