// Which job a launcher has started this program for, by the variables that it sets.
//
// What started the program first comes first: a job of Slurm may start its ranks by mpirun or torchrun, several of them
// too, and all of them are that job's.
//
// Thread safety: stateless.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tessera {

// Equal for all programs of a job on a machine, and different for jobs that run there at the same time; "" if no known
// launcher has started this program. `variable` returns "" for what is not set.
std::string launcher_job(const std::function<std::string_view(const char* name)>& variable);

}  // namespace tessera
