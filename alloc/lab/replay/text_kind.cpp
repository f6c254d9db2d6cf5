#include "lab/replay/text_kind.hpp"

#include <cstddef>
#include <cstdint>

namespace tessera {
namespace {

constexpr std::uint32_t kReplacement = 0xfffd;

void append_utf8(std::string& text, std::uint32_t code) {
  const auto put = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xe0 | code >> 12);
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
    }
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

std::string from_utf16(std::string_view data, bool big_end_first) {
  const auto unit = [&](std::size_t at) {
    const auto first = static_cast<unsigned char>(data[at]), second = static_cast<unsigned char>(data[at + 1]);
    return static_cast<std::uint32_t>(big_end_first ? first << 8 | second : second << 8 | first);
  };
  std::string text;
  for (std::size_t at = 0; at + 1 < data.size(); at += 2) {
    std::uint32_t code = unit(at);
    if (code >= 0xd800 && code < 0xdc00 && at + 3 < data.size() && (unit(at + 2) & 0xfc00) == 0xdc00) {
      code = 0x10000 + ((code - 0xd800) << 10) + (unit(at + 2) - 0xdc00);
      at += 2;
    } else if (code >= 0xd800 && code < 0xe000) {
      if (at + 3 >= data.size()) break;
      code = kReplacement;
    }
    append_utf8(text, code);
  }
  return text;
}

}  // namespace

std::string name_of_other_kind(std::string_view data) {
  using namespace std::string_view_literals;
  struct Kind {
    std::string_view start;
    const char* name;
  };
  static constexpr Kind kKinds[] = {
      {"\xfd"
       "7zXZ\0"sv,
       "compressed with xz; unpack it first: xz -d"},
      {"BZh"sv, "compressed with bzip2; unpack it first: bunzip2"},
      {"\x04\x22\x4d\x18"sv, "compressed with lz4; unpack it first: lz4 -d"},
      {"PK\x03\x04"sv, "a zip archive; unpack it first"},
      {"SQLite format 3\0"sv,
       "an SQLite database, as exported by Nsight Systems, which does not record the memory that kernels use"},
      {"\x7f"
       "ELF"sv,
       "a program or library"},
      {"<!DOCTYPE"sv, "an HTML page"},
      {"<html"sv, "an HTML page"},
  };
  for (const Kind& kind : kKinds) {
    if (data.starts_with(kind.start)) return kind.name;
  }
  const bool is_pickle = data.size() > 1 && data[0] == '\x80' && data[1] >= 2 && data[1] <= 5;  // its protocol version
  if (is_pickle) return "a Python pickle; if it is a memory snapshot of PyTorch: python -m tessera.snapshot FILE TRACE";
  return "";
}

std::string as_utf8(std::string data) {
  using namespace std::string_view_literals;
  const std::string_view view = data;
  if (view.starts_with("\xef\xbb\xbf"sv)) return data.substr(3);
  if (view.starts_with("\xff\xfe"sv)) return from_utf16(view.substr(2), false);
  if (view.starts_with("\xfe\xff"sv)) return from_utf16(view.substr(2), true);
  return data;
}

}  // namespace tessera
