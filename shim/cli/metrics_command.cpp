#include "metrics_command.hpp"

#include <cstdio>

#include <fmt/core.h>

#include "http_server.hpp"
#include "live_sampler.hpp"
#include "metrics_text.hpp"
#include "wrong_use.hpp"

namespace {

// Programs go on writing for so long: a collector usually asks again within a minute, and then no program has to be
// waited for.
constexpr std::chrono::seconds kBetweenScrapes{90};

std::string current_metrics(LiveSampler& sampler) {
  await_answers(kBetweenScrapes);
  return metrics_text(sampler.look(kBetweenScrapes), live_now_ns());
}

}  // namespace

int metrics_command(const MetricsOptions& options) {
  LiveSampler sampler;
  if (options.serve.empty()) {
    fmt::print("{}", current_metrics(sampler));
    return 0;
  }
  HttpServer server;
  if (const std::string problem = server.listen(options.serve); !problem.empty()) {
    fmt::print(stderr, "tessera: --serve: {}\n", problem);
    return kWrongUse;
  }
  fmt::print("http://{}/metrics\n", server.place());
  std::fflush(stdout);
  for (;;) {
    server.serve_for(kBetweenScrapes, [&sampler](const HttpRequest& request) -> HttpAnswer {
      if (request.method != "GET") return {.status = 405, .body = "only GET is answered\n"};
      if (request.path() != "/metrics") return {.status = 404, .body = "try /metrics\n"};
      return {.type = kMetricsType, .body = current_metrics(sampler)};
    });
  }
}
