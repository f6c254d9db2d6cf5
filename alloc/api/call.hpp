// The edge between C++ and C: every exported function runs its body through here.
//
// A Status becomes a tessera_result and this thread's last error; no exception crosses into a C caller, which could not
// catch it.
//
// Thread safety: the last error is the thread's own.
#pragma once

#include <exception>
#include <new>

#include "base/status.hpp"
#include "tessera/status.h"

namespace tessera {

tessera_result result_of(Code code);
// Keeps `status` as the thread's last error, if it is one, and returns its code.
tessera_result report(const Status& status);
// The same where a Status cannot be made, since that may need memory.
tessera_result report_nothrow(tessera_result result, const char* text) noexcept;
const char* last_error_text();
int last_driver_code();
// "`name` must not be null", kInvalidArgument.
Status null_argument(const char* name);

template <class Body>
tessera_result api_call(Body&& body) noexcept {
  try {
    const Status status = body();
    return status.is_ok() ? TESSERA_OK : report(status);
  } catch (const std::bad_alloc&) {
    return report_nothrow(TESSERA_OUT_OF_MEMORY, "out of host memory for bookkeeping");
  } catch (const std::exception& e) {
    return report_nothrow(TESSERA_INTERNAL, e.what());
  } catch (...) {
    return report_nothrow(TESSERA_INTERNAL, "an exception of unknown type");
  }
}

}  // namespace tessera
