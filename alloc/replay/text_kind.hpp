// What a file is that may not be the text that was asked for, and text of other encodings as UTF-8.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// What the first bytes say it is, with what to do: "a Python pickle; ...". "" for text, and for what is not known.
std::string name_of_other_kind(std::string_view data);

// Without a byte order mark; UTF-16 of either order, with its mark, becomes UTF-8. Anything else stays as it is. Half a
// character at the end is left out, and one that is none becomes U+FFFD.
std::string as_utf8(std::string data);

}  // namespace tessera
