// Which of the programs of a job this one is, by the variables that its launcher sets.
//
// What is said of a whole job is said once, by the first of its programs, which needs no message between them.
//
// Thread safety: stateless.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tessera {

struct LauncherRank {
  std::string number;  // as the innermost launcher counts; "" if none is known
  bool is_first = true;
};

// A program is the first if each launcher that counts its programs has given it the number 0: steps of Slurm may start
// torchrun, and each torchrun has a rank 0. `variable` returns "" for what is not set.
LauncherRank launcher_rank(const std::function<std::string_view(const char* name)>& variable);

}  // namespace tessera
