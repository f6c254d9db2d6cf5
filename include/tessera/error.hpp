// The errors of tessera.hpp: a std::error_category, and two exceptions.
//
// The last parameter of a call that can fail is a std::error_code. Without one, the call throws: out_of_memory (a
// std::bad_alloc) for TESSERA_OUT_OF_MEMORY, and error (a std::system_error) for everything else. With one, it sets
// that and returns an empty object. Without exceptions in the compiler, or with TESSERA_NO_EXCEPTIONS, the parameter
// has no default. Codes compare equal to std::errc where that has a value for them.
//
// Thread safety: all functions may be called from any thread.
#ifndef TESSERA_ERROR_HPP
#define TESSERA_ERROR_HPP

#include <memory>
#include <new>
#include <string>
#include <system_error>

#include "tessera/tessera.h"

#if !defined(TESSERA_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define TESSERA_NO_EXCEPTIONS
#endif
#ifdef TESSERA_NO_EXCEPTIONS
#define TESSERA_OR_THROW
#else
#define TESSERA_OR_THROW = ::tessera::throws()
#endif

namespace tessera {

// Of std::error_codes whose values are tessera_results.
inline const std::error_category& category() noexcept {
  static const class : public std::error_category {
    const char* name() const noexcept override { return "tessera"; }
    std::string message(int code) const override { return tessera_result_name(static_cast<tessera_result>(code)); }
    std::error_condition default_error_condition(int code) const noexcept override {
      switch (static_cast<tessera_result>(code)) {
        case TESSERA_INVALID_ARGUMENT: return std::errc::invalid_argument;
        case TESSERA_OUT_OF_MEMORY: return std::errc::not_enough_memory;
        case TESSERA_NOT_READY: return std::errc::resource_unavailable_try_again;
        case TESSERA_NOT_SUPPORTED: return std::errc::not_supported;
        case TESSERA_BUSY: return std::errc::device_or_resource_busy;
        case TESSERA_IO: return std::errc::io_error;
        default: return {code, *this};
      }
    }
  } only;
  return only;
}

#ifndef TESSERA_NO_EXCEPTIONS
class error : public std::system_error {
 public:
  error(tessera_result result, const char* message)
      : std::system_error(static_cast<int>(result), category(), message), driver_code_(tessera_last_driver_code()) {}
  int driver_code() const noexcept { return driver_code_; }  // a CUresult, 0 if the driver did not refuse

 private:
  int driver_code_;
};

class out_of_memory : public std::bad_alloc {
 public:
  explicit out_of_memory(const char* message) : message_(std::make_shared<const std::string>(message)) {}
  const char* what() const noexcept override { return message_->c_str(); }

 private:
  std::shared_ptr<const std::string> message_;  // shared: copies of exceptions must not throw
};

// Stands for "throw" where a std::error_code is expected. Its value is never set.
inline std::error_code& throws() noexcept {
  static std::error_code stands_for;
  return stands_for;
}
#endif

namespace detail {

// Whether the call succeeded.
inline bool check(tessera_result result, std::error_code& code) {
#ifndef TESSERA_NO_EXCEPTIONS
  if (&code == &throws()) {
    if (result == TESSERA_OK) return true;
    if (result == TESSERA_OUT_OF_MEMORY) throw out_of_memory(tessera_last_error());
    throw error(result, tessera_last_error());
  }
#endif
  code.assign(static_cast<int>(result), category());
  return result == TESSERA_OK;
}

// An error that this header finds itself.
inline void refuse(tessera_result result, const char* message, std::error_code& code) {
#ifndef TESSERA_NO_EXCEPTIONS
  if (&code == &throws()) throw error(result, message);
#endif
  (void)message;
  code.assign(static_cast<int>(result), category());
}

template <class T>
T sized() {
  T filled{};
  filled.size = sizeof(T);
  return filled;
}

}  // namespace detail

}  // namespace tessera

#endif
