// Splits a source into words and single characters; comments and blanks are skipped, a string is one piece.
//
// Thread safety: none; an object belongs to one thread.
#pragma once

#include <string_view>

namespace softnvrtc {

class SourcePieces {
 public:
  // REQUIRES: the text outlives all pieces, which point into it.
  explicit SourcePieces(std::string_view source) : left_(source) {}

  // "" at the end.
  std::string_view next();

 private:
  std::string_view cut(std::size_t count);
  void skip_to(std::string_view mark);
  void skip_blanks();
  std::size_t end_of_string() const;

  std::string_view left_;
};

}  // namespace softnvrtc
