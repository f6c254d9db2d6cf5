// What `tessera run` sets in a program's environment, so that frameworks allocate tensor by tensor from calls that
// Tessera manages, not in arenas.
//
// The rows are data, in preset_table.cpp. A variable that the user has set is not replaced: a preset adds to a list of
// settings at most. Where the user has decided against a preset, it is left out, and a line reports that. Only what is
// known before the program starts counts: its environment, its arguments, and the text of a script among them.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

class ChildEnvironment;

struct PresetVariable {
  const char* name;
  const char* value;
};

// A setting with which a preset is left out.
struct PresetConflict {
  const char* variable;  // null: any variable of the preset
  const char* setting;   // an item of the list, "key:" for any value of a key; else the whole value; "" for any value
  const char* outcome;   // what follows for Tessera, for the user; "" if nothing does
};

struct Preset {
  // kList: all variables are names of one setting, a list "key:value,key:value". kWords: each variable is a setting.
  enum class Form { kList, kWords };

  const char* framework;
  const char* versions;
  Form form;
  std::span<const PresetVariable> variables;
  std::span<const PresetConflict> conflicts;
  const char* source;  // public
};

// Something in the program's command line or environment that PyTorch's cudaMallocAsync backend cannot do.
struct TorchNeed {
  enum class In { kArgument, kScript, kVariable };
  In in;
  const char* text;  // kArgument: the argument, or the value of one; kScript: part of the text; kVariable: NAME=value
  const char* what;
  const char* source;
};

std::span<const Preset> preset_table();
// Replaces the row of PyTorch where its cudaMallocAsync backend cannot be used.
const Preset& native_torch_preset();
std::span<const TorchNeed> torch_needs();

enum class TorchChoice { kAuto, kAsync, kNative };

struct PresetOutcome {
  const Preset* preset = nullptr;
  struct Set {
    std::string name, value;
    bool added = false;  // to settings of the user
  };
  std::vector<Set> set;
  std::string left_for;  // "NAME=value" of the user with which the preset is left out; "" if there is none
  std::string outcome;   // what that means
  std::string why;       // why this row and not the usual one, or ""
};

// One for each framework.
std::vector<PresetOutcome> choose_presets(const ChildEnvironment& environment, const std::vector<std::string>& program,
                                          TorchChoice torch);
void apply_presets(const std::vector<PresetOutcome>& outcomes, ChildEnvironment& environment);

// Where `tessera torch-listener` leaves what it builds; "" without a cache of the user's.
std::string torch_listener_folder(const ChildEnvironment& environment);

// For the user: what was set, in one line; then one line for each setting with which a preset was left out and which
// has consequences.
std::vector<std::string> preset_lines(const std::vector<PresetOutcome>& outcomes);
// Whether the program may use a framework, so that the lines are worth printing: not a compiled program at `path` that
// links none and is given no script. `needed`: the libraries that it links.
bool may_use_frameworks(const std::vector<std::string>& program, const std::string& path,
                        const std::vector<std::string>& needed);
// What was, or would be, set: "NAME=value NAME=value"; or the setting that it is left out for.
std::string preset_summary(const PresetOutcome& outcome);
