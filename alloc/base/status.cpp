#include "base/status.hpp"

#include <fmt/core.h>

namespace tessera {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kInvalidArgument: return "invalid argument";
    case Code::kNotFound: return "not found";
    case Code::kOutOfMemory: return "out of memory";
    case Code::kNotReady: return "not ready";
    case Code::kNotSupported: return "not supported";
    case Code::kBusy: return "busy";
    case Code::kIo: return "input/output error";
    case Code::kDataLoss: return "data loss";
    case Code::kDriver: return "driver error";
    case Code::kInternal: return "internal error";
  }
  return "unknown code";
}

Status::Status(Code code, std::string message, int native_code) {
  if (code == Code::kOk) return;
  detail_ = std::make_shared<const Detail>(Detail{code, native_code, std::move(message)});
}

std::string Status::to_string() const {
  if (is_ok()) return "ok";
  if (code() == Code::kDriver) {
    return fmt::format("{} {}: {}", name_of(code()), native_code(), message());
  }
  return fmt::format("{}: {}", name_of(code()), message());
}

}  // namespace tessera
