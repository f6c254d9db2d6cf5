// {fmt}'s implementation, compiled once. Debian ships it as headers or as a shared library: the headers
// cost seconds in every file that formats a line, and a shared library would follow us into the
// program we are preloaded into. Listed are the templates that fmt's headers expect to find here.
#include <fmt/format-inl.h>

namespace fmt::detail {
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template locale_ref::locale_ref(const std::locale&);
template std::locale locale_ref::get<std::locale>() const;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>,
                         locale_ref);
}  // namespace fmt::detail
