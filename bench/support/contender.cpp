#include "contender.hpp"

#include <utility>

#include <fmt/core.h>

namespace tessera::bench {

std::vector<Entry> make_contenders(Bytes capacity) {
  std::vector<Entry> entries;
  const auto add = [&entries](std::string name, std::unique_ptr<Contender> contender) {
    if (!contender) return fmt::print(stderr, "{} is skipped: its library is not installed\n", name);
    entries.push_back({std::move(name), std::move(contender)});
  };
  add("tessera", make_tessera(capacity));
  add("jemalloc", make_jemalloc());
  add("mimalloc", make_mimalloc());
  add("best-fit", make_best_fit(capacity));
  add("torch-rules", make_torch_rules(capacity));
  return entries;
}

}  // namespace tessera::bench
