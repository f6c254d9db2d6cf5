#include "dynamic_shared.hpp"

#include <vector>

#include "source_pieces.hpp"

namespace softnvrtc {
namespace {

// Matches `extern ... __shared__ ... NAME [ ... ]`, piece by piece.
class Declaration {
 public:
  void take(std::string_view piece) {
    if (piece == "__shared__") {
      is_shared_ = true;
    } else if (piece == "[" || !dimensions_.empty()) {
      dimensions_ += piece;
    } else if (is_alignment(piece) || depth_ > 0) {  // the launch's memory has the maximum alignment
      skip(piece);
    } else if (piece != "extern") {
      words_.emplace_back(piece);
    }
  }
  bool is_whole() const { return is_shared_ && !dimensions_.empty() && words_.size() >= 2; }
  // A reference to an array at the launch's memory.
  std::string as_reference() const {
    std::string type;
    for (std::size_t i = 0; i + 1 < words_.size(); ++i) type += words_[i] + " ";
    return "[[maybe_unused]] " + type + "(&" + words_.back() + ")" + dimensions_ + " = *reinterpret_cast<" + type +
           "(*)" + dimensions_ + ">(softcuda::dynamic_shared);";
  }

 private:
  static bool is_alignment(std::string_view piece) {
    return piece == "__align__" || piece == "alignas" || piece == "__attribute__";
  }
  void skip(std::string_view piece) {
    if (is_alignment(piece)) depth_ = 1;  // up to the closing parenthesis
    if (piece == "(") ++depth_;
    if (piece == ")" && --depth_ == 1) depth_ = 0;
  }

  bool is_shared_ = false;
  int depth_ = 0;
  std::vector<std::string> words_;  // the words of the type, then the name
  std::string dimensions_;
};

class Writer {
 public:
  explicit Writer(std::string_view source) : source_(source) {}

  void take(std::string_view piece) {
    const std::size_t at = static_cast<std::size_t>(piece.data() - source_.data());
    const std::size_t end = at + piece.size();
    if (piece == "extern") {
      begin_ = at;
      declares_ = true;
      declaration_ = Declaration();
    }
    if (piece == "{" || piece == "}" || piece == "(") declares_ = declares_ && piece == "(";
    if (declares_ && piece != ";") declaration_.take(piece);
    if (piece == "__global__") is_kernel_ = true;
    if (piece == "{") open(end);
    if (piece == "}" && !inside_.empty()) inside_.pop_back();
    if (piece == ";") {
      if (declares_ && declaration_.is_whole()) replace(end);
      declares_ = false;
    }
    if (piece == ";" || piece == "{" || piece == "}") is_kernel_ = false;
    last_ = piece;
  }
  std::string finish() {
    text_ += source_.substr(copied_);
    return std::move(text_);
  }

 private:
  bool in_function() const { return !inside_.empty() && inside_.back(); }
  void open(std::size_t end) {
    const bool begins = !in_function() && last_ == ")";
    if (begins && is_kernel_) {
      copy_to(end);
      text_ += outside_;
    }
    inside_.push_back(in_function() || begins);
  }
  void replace(std::size_t end) {
    copy_to(begin_);
    const std::string reference = declaration_.as_reference();
    (in_function() ? text_ : outside_) += reference;
    for (const char c : source_.substr(begin_, end - begin_)) {
      if (c == '\n') text_ += c;
    }
    copied_ = end;
  }
  void copy_to(std::size_t end) {
    text_ += source_.substr(copied_, end - copied_);
    copied_ = end;
  }

  const std::string_view source_;
  std::size_t copied_ = 0;
  std::string text_;
  std::string outside_;       // inserted at the beginning of kernels
  std::vector<bool> inside_;  // for each open brace: whether it is in a function
  bool is_kernel_ = false;
  bool declares_ = false;
  std::size_t begin_ = 0;
  Declaration declaration_;
  std::string_view last_;
};

}  // namespace

std::string with_dynamic_shared(std::string_view source) {
  SourcePieces pieces(source);
  Writer writer(source);
  for (auto piece = pieces.next(); !piece.empty(); piece = pieces.next()) writer.take(piece);
  return writer.finish();
}

}  // namespace softnvrtc
