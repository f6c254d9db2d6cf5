#include "replay/zstd_text.hpp"

#include <memory>
#include <vector>

#include <fmt/format.h>

#if TESSERA_ZSTD
#include <zstd.h>
#endif

namespace tessera {

bool is_zstd(std::istream& in) {
  constexpr unsigned char kMagic[4] = {0x28, 0xb5, 0x2f, 0xfd};
  const auto start = in.tellg();
  char head[4] = {};
  in.read(head, sizeof(head));
  const bool whole = in.gcount() == sizeof(head);
  in.clear();
  in.seekg(start);
  bool same = whole;
  for (std::size_t i = 0; i < sizeof(head); ++i) {
    same = same && static_cast<unsigned char>(head[i]) == kMagic[i];
  }
  return same;
}

#if TESSERA_ZSTD

Result<std::string> unpack_zstd(std::istream& in, const std::string& name) {
  const auto damaged = [&name](const char* reason) {
    return Status(Code::kInvalidArgument, fmt::format("{}: {}", name, reason));
  };
  struct End {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  const std::unique_ptr<ZSTD_DStream, End> stream(ZSTD_createDStream());
  if (!stream) return Status(Code::kOutOfMemory, "no memory to unpack into");
  std::string plain;
  std::vector<char> packed(ZSTD_DStreamInSize()), piece(ZSTD_DStreamOutSize());
  std::size_t rest = 1;  // 0 when a frame is whole
  while (in.read(packed.data(), static_cast<std::streamsize>(packed.size())), in.gcount() > 0) {
    ZSTD_inBuffer from{packed.data(), static_cast<std::size_t>(in.gcount()), 0};
    for (bool more = true; more;) {
      ZSTD_outBuffer to{piece.data(), piece.size(), 0};
      rest = ZSTD_decompressStream(stream.get(), &to, &from);
      if (ZSTD_isError(rest)) return damaged(ZSTD_getErrorName(rest));
      plain.append(piece.data(), to.pos);
      if (plain.size() > kMaxUnpacked.value()) return damaged("more text than a trace may have");
      more = from.pos < from.size || to.pos == to.size;
    }
  }
  if (rest != 0) return damaged("the end is missing");
  return plain;
}

#else

Result<std::string> unpack_zstd(std::istream&, const std::string& name) {
  return Status(Code::kNotSupported,
                fmt::format("{}: this build reads no zstd; unpack it first: zstd -d", name));
}

#endif

}  // namespace tessera
