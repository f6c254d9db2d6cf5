#include "source_pieces.hpp"

#include <algorithm>
#include <cctype>

namespace softnvrtc {
namespace {

bool is_blank(char character) { return std::isspace(static_cast<unsigned char>(character)) != 0; }

bool is_word(char character) { return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_'; }

}  // namespace

std::string_view SourcePieces::next() {
  skip_blanks();
  if (left_.empty()) return {};
  if (left_[0] == '"' || left_[0] == '\'') return cut(end_of_string());
  std::size_t end = 1;
  if (is_word(left_[0])) {
    while (end < left_.size() && is_word(left_[end])) ++end;
  }
  return cut(end);
}

std::string_view SourcePieces::cut(std::size_t count) {
  const std::string_view piece = left_.substr(0, count);
  left_.remove_prefix(std::min(count, left_.size()));
  return piece;
}

void SourcePieces::skip_to(std::string_view mark) {
  const std::size_t at = left_.find(mark, 2);
  cut(at == std::string_view::npos ? left_.size() : at + mark.size());
}

void SourcePieces::skip_blanks() {
  for (;;) {
    if (left_.starts_with("//")) {
      skip_to("\n");
    } else if (left_.starts_with("/*")) {
      skip_to("*/");
    } else if (!left_.empty() && is_blank(left_[0])) {
      cut(1);
    } else {
      return;
    }
  }
}

std::size_t SourcePieces::end_of_string() const {
  std::size_t end = 1;
  while (end < left_.size() && left_[end] != left_[0]) end += left_[end] == '\\' ? 2 : 1;
  return end + 1;
}

}  // namespace softnvrtc
