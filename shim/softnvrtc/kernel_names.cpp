#include "kernel_names.hpp"

#include <algorithm>
#include <cctype>

namespace softnvrtc {
namespace {

bool is_word(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
}

bool is_meeting(std::string_view word) {
  return word.starts_with("__syncthreads") || word == "__syncwarp" ||
         (word.starts_with("__") && word.ends_with("_sync"));
}

// Cuts a source into words and single signs; comments and blanks are gone, a string is one piece.
class Pieces {
 public:
  explicit Pieces(std::string_view source) : left_(source) {}

  // "" at the end.
  std::string_view next() {
    skip_blanks();
    if (left_.empty()) return {};
    if (left_[0] == '"' || left_[0] == '\'') return cut(end_of_string());
    std::size_t end = 1;
    if (is_word(left_[0])) {
      while (end < left_.size() && is_word(left_[end])) ++end;
    }
    return cut(end);
  }

 private:
  std::string_view cut(std::size_t count) {
    const std::string_view piece = left_.substr(0, count);
    left_.remove_prefix(std::min(count, left_.size()));
    return piece;
  }
  void skip_to(std::string_view mark) {
    const std::size_t at = left_.find(mark, 2);
    cut(at == std::string_view::npos ? left_.size() : at + mark.size());
  }
  void skip_blanks() {
    for (;;) {
      if (left_.starts_with("//")) {
        skip_to("\n");
      } else if (left_.starts_with("/*")) {
        skip_to("*/");
      } else if (!left_.empty() && std::isspace(static_cast<unsigned char>(left_[0])) != 0) {
        cut(1);
      } else {
        return;
      }
    }
  }
  std::size_t end_of_string() const {
    std::size_t end = 1;
    while (end < left_.size() && left_[end] != left_[0]) end += left_[end] == '\\' ? 2 : 1;
    return end + 1;
  }

  std::string_view left_;
};

// Follows one declaration: `extern "C" ... __global__ ... NAME ( ... ) {`.
class Reader {
 public:
  void take(std::string_view piece) {
    if (piece == "(") {
      open_parenthesis();
    } else if (piece == ")") {
      --parentheses_;
    } else if (parentheses_ == 0 && piece == "{") {
      open_brace();
    } else if (parentheses_ == 0 && (piece == "}" || piece == ";")) {
      if (piece == "}" && !braces_.empty()) braces_.pop_back();
      forget();
    } else if (parentheses_ == 0) {
      take_word(piece);
    }
    if (is_meeting(piece)) facts.has_meetings = true;
    last_ = piece;
  }

  SourceFacts facts;

 private:
  void take_word(std::string_view piece) {
    if (last_ == "extern" && piece == "\"C\"") is_c_ = true;
    if (piece == "__global__") is_kernel_ = true;
  }
  // The word before the last parenthesis of a declaration's front is its name, but for attributes.
  void open_parenthesis() {
    const bool attribute = last_.starts_with("__") && last_.ends_with("__");
    if (parentheses_++ == 0 && is_kernel_ && !attribute && name_.empty()) name_ = last_;
  }
  void open_brace() {
    const bool inside_c = std::any_of(braces_.begin(), braces_.end(), [](bool c) { return c; });
    if (is_kernel_ && !name_.empty() && (is_c_ || inside_c)) add(std::string(name_));
    braces_.push_back(is_c_ && !is_kernel_ && last_ == "\"C\"");
    forget();
  }
  void add(std::string name) {
    auto& all = facts.kernels;
    if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(std::move(name));
  }
  void forget() {
    is_c_ = is_kernel_ = false;
    name_ = {};
  }

  std::vector<bool> braces_;  // for each that is open: is it extern "C"
  int parentheses_ = 0;
  bool is_c_ = false;
  bool is_kernel_ = false;
  std::string_view name_;
  std::string_view last_;
};

}  // namespace

SourceFacts read_source(std::string_view source) {
  Pieces pieces(source);
  Reader reader;
  for (auto piece = pieces.next(); !piece.empty(); piece = pieces.next()) reader.take(piece);
  return reader.facts;
}

}  // namespace softnvrtc
