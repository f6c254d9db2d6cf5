// The result of a call that can fail: success, or a code with the driver's own code and a message.
//
// Errors are values. Nothing in Tessera throws on purpose, and no Status may be dropped: the types are
// nodiscard and the build makes that an error. Success is free to make and to test.
//
// Thread safety: values; distinct objects may be used from distinct threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {

enum class Code : int {
  kOk = 0,
  kInvalidArgument,  // invalid value from the caller
  kNotFound,         // the address (or name) is unknown to Tessera
  kOutOfMemory,      // no tier can hold it; the message adds up the bytes
  kNotReady,         // a non-blocking query, and the work has not finished
  kNotSupported,     // by this machine or this driver
  kBusy,             // held, pinned or in flight; a retry may succeed
  kIo,               // the spill file failed
  kDataLoss,         // a lower tier returned bytes with a wrong checksum
  kDriver,           // the driver refused; native_code() is its CUresult
  kInternal,         // an internal invariant is broken
};

std::string_view name_of(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, int native_code = 0);

  static Status ok() { return {}; }

  bool is_ok() const { return detail_ == nullptr; }
  Code code() const { return detail_ ? detail_->code : Code::kOk; }
  // The driver's own result code if code() is kDriver, else 0.
  int native_code() const { return detail_ ? detail_->native_code : 0; }
  std::string_view message() const { return detail_ ? std::string_view(detail_->message) : ""; }
  // "out of memory: 3 of 4 ..." for logs and error messages.
  std::string to_string() const;

 private:
  struct Detail {
    Code code;
    int native_code;
    std::string message;
  };
  std::shared_ptr<const Detail> detail_;  // null means success
};

// A value, or the error that explains its offload interval.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: REQUIRES: !status.is_ok()

  bool is_ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  // REQUIRES: is_ok().
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T take() { return std::move(*value_); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace tessera

// Returns the error from the enclosing function if `expression` yields one.
#define TESSERA_TRY(expression)                                                              \
  do {                                                                                       \
    if (::tessera::Status try_status = (expression); !try_status.is_ok()) return try_status; \
  } while (false)

#define TESSERA_CONCAT_INNER(a, b) a##b
#define TESSERA_CONCAT(a, b) TESSERA_CONCAT_INNER(a, b)

// Declares or assigns `target` from a Result, or returns its error from the enclosing function.
#define TESSERA_TRY_ASSIGN(target, expression) \
  TESSERA_TRY_ASSIGN_INNER(TESSERA_CONCAT(try_result_, __LINE__), target, expression)
#define TESSERA_TRY_ASSIGN_INNER(result, target, expression) \
  auto result = (expression);                                \
  if (!result.is_ok()) return result.status();               \
  target = result.take()
