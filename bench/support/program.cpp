#include "program.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>

#include <fmt/core.h>

#include "environment.hpp"

namespace tessera::bench {

int run_program(int argc, char** argv, const Program& program,
                const std::function<std::optional<Results>(bool smoke)>& measure) {
  bool smoke = false, json = false;
  CLI::App app(program.about);
  app.add_flag("--smoke", smoke, program.smoke);
  app.add_flag("--json", json, "print one JSON object");
  CLI11_PARSE(app, argc, argv);
  if (!smoke && !may_measure(program.is_measurable)) return EXIT_FAILURE;
  const Environment environment = read_environment(program.build_directory, program.data_directory);
  const std::optional<Results> results = measure(smoke);
  if (!results) return EXIT_FAILURE;
  if (json) {
    nlohmann::ordered_json all = {{"environment", to_json(environment)}, {"smoke", smoke}};
    all.update(results->json);
    std::cout << all.dump(2) << "\n";
    return EXIT_SUCCESS;
  }
  print(environment);
  results->print();
  if (smoke) fmt::print("\nA smoke test: the numbers are meaningless.\n");
  return EXIT_SUCCESS;
}

}  // namespace tessera::bench
