// Recognises files that are not the expected text, and converts other encodings to UTF-8.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// The kind according to the first bytes, with advice: "a Python pickle; ...". "" for text and for unknown kinds.
std::string name_of_other_kind(std::string_view data);

// Removes a byte order mark; UTF-16 of either byte order, with its mark, becomes UTF-8. Everything else is unchanged.
// An incomplete character at the end is dropped, and an invalid one becomes U+FFFD.
std::string as_utf8(std::string data);

}  // namespace tessera
