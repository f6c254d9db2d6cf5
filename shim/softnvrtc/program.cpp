#include "program.hpp"

#include <mutex>

#include "dynamic_shared.hpp"
#include "host_compiler.hpp"
#include "kernel_names.hpp"

namespace softnvrtc {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<nvrtcProgram, std::unique_ptr<Program>> programs;
};

Registry& registry() {
  static auto& all = *new Registry;  // never destroyed: a program may compile until its very end
  return all;
}

// The source under its own name, followed by a descriptor for each kernel.
std::string whole_source(const Program& program, const SourceFacts& facts) {
  std::string text;
  for (const std::string& name : facts.own_integers) text += "#define " + name + " own_" + name + "\n";
  text += "#line 1 \"" + program.name + "\"\n" + with_dynamic_shared(program.source) + "\n";
  for (const std::string& kernel : facts.kernels) text += "TESSERA_KERNEL(" + kernel + ")\n";
  for (const auto& [expression, lowered] : program.expressions) {
    text += "TESSERA_KERNEL_AS(" + lowered + ", (" + expression + "))\n";
  }
  return text;
}

}  // namespace

nvrtcProgram add(std::unique_ptr<Program> program) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto handle = reinterpret_cast<nvrtcProgram>(program.get());
  all.programs[handle] = std::move(program);
  return handle;
}

Program* find(nvrtcProgram handle) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.programs.find(handle);
  return found == all.programs.end() ? nullptr : found->second.get();
}

void remove(nvrtcProgram handle) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.programs.erase(handle);
}

nvrtcResult build(Program& program, const std::vector<std::string>& options) {
  SourceFacts facts = read_source(program.source);
  for (const auto& [name, text] : program.headers) {
    const SourceFacts also = read_source(text);
    facts.has_meetings = facts.has_meetings || also.has_meetings;
    facts.has_kernel_macros = facts.has_kernel_macros || also.has_kernel_macros;
    facts.own_integers.insert(facts.own_integers.end(), also.own_integers.begin(), also.own_integers.end());
  }
  if (facts.has_kernel_macros) {
    const CompileResult expanded = expand_macros({program.source, program.headers, options});
    if (expanded.succeeded) facts.kernels = read_source(expanded.object).kernels;
  }
  CompileRequest request{whole_source(program, facts), program.headers, options};
  if (facts.has_meetings) request.options.push_back("-DSOFTCUDA_BARRIERS");
  CompileResult result = compile(request);
  program.compiled = true;
  program.log = std::move(result.log);
  program.object = result.succeeded ? std::move(result.object) : std::string();
  return result.succeeded ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

}  // namespace softnvrtc
