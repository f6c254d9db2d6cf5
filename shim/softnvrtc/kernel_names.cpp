#include "kernel_names.hpp"

#include <algorithm>
#include <iterator>

#include "source_pieces.hpp"

namespace softnvrtc {
namespace {

constexpr std::string_view kIntegers[] = {"int8_t",  "int16_t",  "int32_t",  "int64_t",  "intptr_t",
                                          "uint8_t", "uint16_t", "uint32_t", "uint64_t", "uintptr_t"};

bool is_integer(std::string_view word) {
  return std::find(std::begin(kIntegers), std::end(kIntegers), word) != std::end(kIntegers);
}

bool is_meeting(std::string_view word) {
  return word.starts_with("__syncthreads") || word == "__syncwarp" ||
         (word.starts_with("__") && word.ends_with("_sync"));
}

// Whether `at` is in a #define, which may span several lines.
bool in_definition(std::string_view source, std::size_t at) {
  for (std::size_t line = source.rfind('\n', at);; line = source.rfind('\n', line - 1)) {
    const bool continues = line != std::string_view::npos && line > 0 && source[line - 1] == '\\';
    if (continues) continue;
    const std::size_t begin = line == std::string_view::npos ? 0 : line + 1;
    SourcePieces pieces(source.substr(begin, at - begin));
    return pieces.next() == "#" && pieces.next() == "define";
  }
}

bool defines_kernels(std::string_view source) {
  constexpr std::string_view kKernel = "__global__";
  for (std::size_t at = source.find(kKernel); at != std::string_view::npos; at = source.find(kKernel, at + 1)) {
    if (in_definition(source, at)) return true;
  }
  return false;
}

// Parses one declaration: `extern "C" ... __global__ ... NAME ( ... ) {`.
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
    note_integer(piece);
    last_ = piece;
  }

  SourceFacts facts;

 private:
  void take_word(std::string_view piece) {
    if (last_ == "extern" && piece == "\"C\"") is_c_ = true;
    if (piece == "__global__") is_kernel_ = true;
  }
  // The word before a declaration's first parenthesis is the name, unless it is an attribute.
  void open_parenthesis() {
    const bool attribute = last_.starts_with("__") && last_.ends_with("__");
    if (parentheses_++ == 0 && is_kernel_ && !attribute && name_.empty()) name_ = last_;
  }
  void open_brace() {
    const bool inside_c = std::any_of(braces_.begin(), braces_.end(), [](bool c) { return c; });
    if (is_kernel_ && !name_.empty() && (is_c_ || inside_c)) add(facts.kernels, std::string(name_));
    braces_.push_back(is_c_ && !is_kernel_ && last_ == "\"C\"");
    forget();
  }
  // Matches `typedef ... NAME ;` and `using NAME =`.
  void note_integer(std::string_view piece) {
    const bool ends_typedef = is_typedef_ && piece == ";";
    const bool begins_using = before_last_ == "using" && piece == "=";
    if ((ends_typedef || begins_using) && is_integer(last_)) {
      add(facts.own_integers, std::string(last_));
    }
    if (piece == "typedef" || piece == ";") is_typedef_ = piece == "typedef";
    before_last_ = last_;
  }
  static void add(std::vector<std::string>& all, std::string name) {
    if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(std::move(name));
  }
  void forget() {
    is_c_ = is_kernel_ = false;
    name_ = {};
  }

  std::vector<bool> braces_;  // for each open brace: whether it is extern "C"
  int parentheses_ = 0;
  bool is_c_ = false;
  bool is_kernel_ = false;
  bool is_typedef_ = false;
  std::string_view name_;
  std::string_view last_;
  std::string_view before_last_;
};

}  // namespace

SourceFacts read_source(std::string_view source) {
  SourcePieces pieces(source);
  Reader reader;
  for (auto piece = pieces.next(); !piece.empty(); piece = pieces.next()) reader.take(piece);
  reader.facts.has_kernel_macros = defines_kernels(source);
  return reader.facts;
}

}  // namespace softnvrtc
