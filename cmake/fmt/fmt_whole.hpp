// All of {fmt}, for what formats lists; other files include <fmt/core.h>.
//
// fmt/format.h has the formatter's definition, and {fmt} 9 does not say that the library has it as well: each file that
// formats into memory of its own would compile it again, which takes three seconds with optimisation.
//
// Thread safety: has nothing to share.
#pragma once

#include <fmt/format.h>

namespace fmt::detail {
extern template void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
}  // namespace fmt::detail
