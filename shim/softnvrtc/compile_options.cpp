#include "compile_options.hpp"

#include <algorithm>
#include <string_view>

namespace softnvrtc {
namespace {

struct Translation {
  std::string_view nvrtc;
  std::string_view host;
};

// Options with a value that follows after `=`, after a blank, or immediately.
constexpr Translation kWithValue[] = {
    {"--include-path", "-I"},   {"-I", "-I"},      {"--define-macro", "-D"},      {"-D", "-D"},
    {"--undefine-macro", "-U"}, {"-U", "-U"},      {"--pre-include", "-include"}, {"-include", "-include"},
    {"--std", "-std="},         {"-std", "-std="},
};

// Options about GPU code generation and its debug information.
constexpr std::string_view kWithoutEffect[] = {"--gpu-architecture",
                                               "-arch",
                                               "--minimal",
                                               "-minimal",
                                               "--device-debug",
                                               "-G",
                                               "--generate-line-info",
                                               "-lineinfo",
                                               "--maxrregcount",
                                               "-maxrregcount",
                                               "--ftz",
                                               "-ftz",
                                               "--prec-sqrt",
                                               "-prec-sqrt",
                                               "--prec-div",
                                               "-prec-div",
                                               "--fmad",
                                               "-fmad",
                                               "--use_fast_math",
                                               "-use_fast_math",
                                               "--extra-device-vectorization",
                                               "--relocatable-device-code",
                                               "-rdc",
                                               "--device-c",
                                               "-dc",
                                               "--device-w",
                                               "-dw",
                                               "--ptxas-options",
                                               "-Xptxas",
                                               "--disable-warnings",
                                               "-w",
                                               "--restrict",
                                               "-restrict",
                                               "--device-as-default-execution-space",
                                               "-default-device",
                                               "--builtin-move-forward",
                                               "--builtin-initializer-list",
                                               "--device-int128",
                                               "--no-source-include",
                                               "--display-error-number",
                                               "--no-display-error-number",
                                               "--diag-suppress",
                                               "--diag-error",
                                               "--diag-warn",
                                               "--optimize",
                                               "-O",
                                               "--dopt",
                                               "-dopt",
                                               "--split-compile",
                                               "--fdevice-time-trace",
                                               "--no-cache",
                                               "--brief-diagnostics",
                                               "--jump-table-density"};

std::string_view name_of(std::string_view option) { return option.substr(0, option.find('=')); }

bool is_without_effect(std::string_view option) {
  return std::find(std::begin(kWithoutEffect), std::end(kWithoutEffect), name_of(option)) != std::end(kWithoutEffect);
}

const Translation* find(std::string_view option) {
  const auto* const found = std::find_if(std::begin(kWithValue), std::end(kWithValue), [&](const Translation& known) {
    return name_of(option) == known.nvrtc || (known.nvrtc.size() == 2 && option.starts_with(known.nvrtc));
  });
  return found == std::end(kWithValue) ? nullptr : found;
}

}  // namespace

std::optional<std::vector<std::string>> host_options(std::span<const char* const> options, std::string& unknown) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string_view option(options[i]);
    const Translation* const known = find(option);
    if (known == nullptr && !is_without_effect(option)) {
      unknown = option;
      return std::nullopt;
    }
    if (known == nullptr) continue;
    std::string_view value = option.substr(known->nvrtc.size());
    if (value.starts_with('=')) value.remove_prefix(1);
    if (value.empty() && i + 1 < options.size()) value = options[++i];
    if (known->host == "-include") {
      words.insert(words.end(), {"-include", std::string(value)});
    } else {
      words.push_back(std::string(known->host) + std::string(value));
    }
  }
  return words;
}

}  // namespace softnvrtc
