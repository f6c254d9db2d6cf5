#include "api/call.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace tessera {
namespace {

// A fixed buffer, so that running out of memory can be reported too. Longer messages are cut.
struct LastError {
  char text[2048] = "";
  int driver_code = 0;

  void set(std::string_view message, int code) noexcept {
    const std::size_t length = std::min(message.size(), sizeof(text) - 1);
    std::memcpy(text, message.data(), length);
    text[length] = 0;
    driver_code = code;
  }
};
thread_local LastError last_error;

}  // namespace

tessera_result result_of(Code code) {
  static_assert(static_cast<int>(Code::kInternal) == TESSERA_INTERNAL);
  static_assert(static_cast<int>(Code::kDataLoss) == TESSERA_DATA_LOSS);
  static_assert(static_cast<int>(Code::kOutOfMemory) == TESSERA_OUT_OF_MEMORY);
  return static_cast<tessera_result>(code);
}

tessera_result report(const Status& status) {
  if (!status.is_ok()) last_error.set(status.message(), status.native_code());
  return result_of(status.code());
}

tessera_result report_nothrow(tessera_result result, const char* text) noexcept {
  last_error.set(text, 0);
  return result;
}

const char* last_error_text() { return last_error.text; }
Status null_argument(const char* name) {
  return Status(Code::kInvalidArgument, std::string(name) + " must not be null");
}

int last_driver_code() { return last_error.driver_code; }

}  // namespace tessera
