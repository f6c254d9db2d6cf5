// NVRTC's documented calls: check arguments, forward, return results.
#include <cctype>
#include <cstring>
#include <new>

#include "compile_options.hpp"
#include "program.hpp"

namespace {

using softnvrtc::Program;

// Calls body(program) and lets no exception escape.
template <class Body>
nvrtcResult on_program(nvrtcProgram handle, Body&& body) noexcept {
  try {
    Program* const program = softnvrtc::find(handle);
    return program == nullptr ? NVRTC_ERROR_INVALID_PROGRAM : body(*program);
  } catch (const std::bad_alloc&) {
    return NVRTC_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception&) {
    return NVRTC_ERROR_INTERNAL_ERROR;
  }
}

// A text is returned with its terminating zero, an object as is.
nvrtcResult give_size(size_t* size, std::size_t bytes) {
  if (size == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *size = bytes;
  return NVRTC_SUCCESS;
}
nvrtcResult give(char* target, const std::string& bytes, std::size_t count) {
  if (target == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  std::memcpy(target, bytes.c_str(), count);
  return NVRTC_SUCCESS;
}

nvrtcResult object_size(nvrtcProgram handle, size_t* size) {
  return on_program(handle, [&](Program& program) {
    if (program.object.empty()) return NVRTC_ERROR_INVALID_PROGRAM;
    return give_size(size, program.object.size());
  });
}
nvrtcResult object(nvrtcProgram handle, char* target) {
  return on_program(handle, [&](Program& program) {
    if (program.object.empty()) return NVRTC_ERROR_INVALID_PROGRAM;
    return give(target, program.object, program.object.size());
  });
}

std::string trimmed(const char* text) {
  std::string expression(text);
  while (!expression.empty() && std::isspace(static_cast<unsigned char>(expression.back()))) {
    expression.pop_back();
  }
  const std::size_t begin = expression.find_first_not_of(" \t\n&");
  return begin == std::string::npos ? "" : expression.substr(begin);
}

}  // namespace

const char* nvrtcGetErrorString(nvrtcResult result) {
  static constexpr const char* kNames[] = {"NVRTC_SUCCESS",
                                           "NVRTC_ERROR_OUT_OF_MEMORY",
                                           "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                           "NVRTC_ERROR_INVALID_INPUT",
                                           "NVRTC_ERROR_INVALID_PROGRAM",
                                           "NVRTC_ERROR_INVALID_OPTION",
                                           "NVRTC_ERROR_COMPILATION",
                                           "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                           "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                           "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                           "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                           "NVRTC_ERROR_INTERNAL_ERROR"};
  const auto place = static_cast<std::size_t>(result);
  return place < std::size(kNames) ? kNames[place] : "NVRTC_ERROR unknown";
}

nvrtcResult nvrtcVersion(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  if (count == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *count = 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  if (architectures == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  architectures[0] = 90;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* handle, const char* source, const char* name, int header_count,
                               const char* const* headers, const char* const* header_names) {
  const bool named = header_count == 0 || (headers != nullptr && header_names != nullptr);
  if (handle == nullptr || source == nullptr || header_count < 0 || !named) {
    return NVRTC_ERROR_INVALID_INPUT;
  }
  try {
    auto program = std::make_unique<Program>();
    program->source = source;
    program->name = name == nullptr ? "default_program" : name;
    for (int i = 0; i < header_count; ++i) {
      program->headers.emplace_back(header_names[i], headers[i]);
    }
    *handle = softnvrtc::add(std::move(program));
    return NVRTC_SUCCESS;
  } catch (const std::exception&) {
    return NVRTC_ERROR_OUT_OF_MEMORY;
  }
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* handle) {
  if (handle == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  return on_program(*handle, [&](Program&) {
    softnvrtc::remove(*handle);
    *handle = nullptr;
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char* const* options) {
  return on_program(handle, [&](Program& program) {
    if (count < 0 || (count > 0 && options == nullptr)) return NVRTC_ERROR_INVALID_INPUT;
    std::string unknown;
    const auto words = softnvrtc::host_options({options, static_cast<std::size_t>(count)}, unknown);
    if (!words) {
      program.log = "unknown option " + unknown + "\n";
      return NVRTC_ERROR_INVALID_OPTION;
    }
    return softnvrtc::build(program, *words);
  });
}

// Both are the object that the software driver loads.
nvrtcResult nvrtcGetPTXSize(nvrtcProgram handle, size_t* size) { return object_size(handle, size); }
nvrtcResult nvrtcGetPTX(nvrtcProgram handle, char* ptx) { return object(handle, ptx); }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t* size) { return object_size(handle, size); }
nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char* cubin) { return object(handle, cubin); }

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t* size) {
  return on_program(handle, [&](Program& program) { return give_size(size, program.log.size() + 1); });
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char* log) {
  return on_program(handle, [&](Program& program) { return give(log, program.log, program.log.size() + 1); });
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram handle, const char* expression) {
  return on_program(handle, [&](Program& program) {
    if (expression == nullptr) return NVRTC_ERROR_INVALID_INPUT;
    if (program.compiled) return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    const std::string lowered = "named_" + std::to_string(program.expressions.size());
    program.expressions.try_emplace(trimmed(expression), lowered);
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram handle, const char* expression, const char** lowered) {
  return on_program(handle, [&](Program& program) {
    if (expression == nullptr || lowered == nullptr) return NVRTC_ERROR_INVALID_INPUT;
    if (!program.compiled) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    const auto found = program.expressions.find(trimmed(expression));
    if (found == program.expressions.end()) return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
    *lowered = found->second.c_str();
    return NVRTC_SUCCESS;
  });
}
