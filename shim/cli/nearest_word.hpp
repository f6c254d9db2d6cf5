// The word that a misspelt one was probably meant to be.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

// The nearest of `words`, if few letters differ; else "".
std::string nearest_word(const std::string& word, const std::vector<std::string>& words);
