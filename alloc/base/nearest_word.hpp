// The word that a misspelt one was probably meant to be.
//
// A name that is not known is reported together with the one that comes close, so that the user need not look it up.
//
// Thread safety: a pure function.
#pragma once

#include <span>
#include <string_view>

namespace tessera {

// The entry of `words` from which `word` differs in a fifth of its letters at most, or in one; or which it begins and
// is cut off in the middle of a word ("device-mem"). The nearest of several, `word` itself if it is an entry, "" if it
// is close to none. What all words begin with, such as "--", belongs in none of them: it would count as letters written
// right.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words);

}  // namespace tessera
