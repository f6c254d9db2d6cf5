#include "lab/replay/packed_text.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include <fmt/core.h>

#if TESSERA_ZLIB
#include <zlib.h>
#endif
#if TESSERA_ZSTD
#include <zstd.h>
#endif

namespace tessera {
namespace {

Status damaged(std::string_view reason) {
  return Status(Code::kInvalidArgument, fmt::format("the compressed file is damaged: {}", reason));
}
Status too_long() { return Status(Code::kInvalidArgument, "larger than the limit of a trace"); }

#if TESSERA_ZSTD

Result<UnpackedText> unpack_zstd(std::string_view data) {
  struct End {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  const std::unique_ptr<ZSTD_DStream, End> stream(ZSTD_createDStream());
  if (!stream) return Status(Code::kOutOfMemory, "out of memory while unpacking");
  UnpackedText plain;
  std::vector<char> piece(ZSTD_DStreamOutSize());
  ZSTD_inBuffer from{data.data(), data.size(), 0};
  std::size_t rest = 1;  // 0 when a frame is complete
  for (bool more = true; more;) {
    ZSTD_outBuffer to{piece.data(), piece.size(), 0};
    rest = ZSTD_decompressStream(stream.get(), &to, &from);
    if (ZSTD_isError(rest)) return damaged(ZSTD_getErrorName(rest));
    plain.text.append(piece.data(), to.pos);
    if (plain.text.size() > kMaxUnpacked.value()) return too_long();
    more = from.pos < from.size || to.pos == to.size;
  }
  plain.cut = rest != 0;
  return plain;
}

#else

Result<UnpackedText> unpack_zstd(std::string_view) {
  return Status(Code::kNotSupported, "this build does not support zstd; unpack it first: zstd -d");
}

#endif

#if TESSERA_ZLIB

Result<UnpackedText> unpack_gzip(std::string_view data) {
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream stream{};
  if (::inflateInit2(&stream, kGzip) != Z_OK) return Status(Code::kOutOfMemory, "out of memory while unpacking");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, ::inflateEnd);
  UnpackedText plain;
  std::vector<char> piece(std::size_t{1} << 18);
  bool whole = false;
  while (!data.empty() || stream.avail_in > 0) {
    // zlib counts in 32 bits, and does not write to its input.
    const std::size_t part = std::min<std::size_t>(data.size(), std::numeric_limits<uInt>::max() - stream.avail_in);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data() - stream.avail_in));
    stream.avail_in += static_cast<uInt>(part);
    data.remove_prefix(part);
    for (int result = Z_OK;;) {
      stream.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream.avail_out = static_cast<uInt>(piece.size());
      result = ::inflate(&stream, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        return damaged(stream.msg != nullptr ? stream.msg : "not gzip");
      }
      plain.text.append(piece.data(), piece.size() - stream.avail_out);
      if (plain.text.size() > kMaxUnpacked.value()) return too_long();
      whole = result == Z_STREAM_END;
      // Concatenated gzip files count as one file.
      if (whole && (stream.avail_in > 0 || !data.empty())) ::inflateReset(&stream);
      if (stream.avail_in == 0 && stream.avail_out > 0) break;
    }
  }
  plain.cut = !whole;
  return plain;
}

#else

Result<UnpackedText> unpack_gzip(std::string_view) {
  return Status(Code::kNotSupported, "this build does not support gzip; unpack it first: gunzip");
}

#endif

}  // namespace

Packing packing_of(std::string_view data) {
  if (data.starts_with("\x1f\x8b")) return Packing::kGzip;
  if (data.starts_with("\x28\xb5\x2f\xfd")) return Packing::kZstd;
  return Packing::kNone;
}

Result<UnpackedText> unpack(std::string_view data, Packing packing) {
  return packing == Packing::kZstd ? unpack_zstd(data) : unpack_gzip(data);
}

}  // namespace tessera
