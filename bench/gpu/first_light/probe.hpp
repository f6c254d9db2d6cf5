// One probe of a GPU's driver, and its answer as one line of JSON.
//
// Plain documented driver API, nothing of Tessera: the answers must be true whether our code is right or wrong. A wrong
// guess can make a context unusable, so a probe depends on nothing that an earlier probe left behind. A failing driver
// call ends its probe with the call and its error code, which is an answer too.
//
// Thread safety: none; a probe that needs threads creates its own.
#pragma once

#include <cuda.h>

#include <chrono>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace first_light {

using Json = nlohmann::ordered_json;

// Thrown when a call fails that the probe cannot do without.
struct Failure {
  std::string call;
  CUresult code;
};

// Thrown when this machine lacks what the probe needs: it could not run.
struct NotHere {
  std::string why;
};

void must(CUresult result, const char* call);
#define MUST(call) ::first_light::must((call), #call)

// "CUDA_ERROR_NOT_READY"
std::string name_of(CUresult code);
// {"code": 600, "error": "CUDA_ERROR_NOT_READY"}
Json outcome(CUresult code);

struct Settings {
  bool quick = false;                  // a few rounds: shows that it runs
  std::string directory = "/var/tmp";  // for disk probes
};

// The result of a probe: yes or no, or numbers only.
struct Answer {
  std::string answer = "measured";  // "yes", "no", "measured"
  Json results = Json::object();
};
inline Answer yes_if(bool yes, Json results = Json::object()) { return {yes ? "yes" : "no", std::move(results)}; }

struct Probe {
  const char* name;
  const char* question;
  Answer (*ask)(const Settings& settings);
};

// Each file of probes defines one of these.
std::vector<Probe> fact_probes();
std::vector<Probe> mapping_probes();
std::vector<Probe> swap_probes();
std::vector<Probe> race_probes();
std::vector<Probe> query_probes();
std::vector<Probe> transfer_probes();
std::vector<Probe> graph_probes();
std::vector<Probe> atomic_probes();
std::vector<Probe> bulk_copy_probes();
std::vector<Probe> call_cost_probes();
std::vector<Probe> link_probes();
std::vector<Probe> disk_probes();
std::vector<Probe> address_probes();
std::vector<Probe> handle_probes();
std::vector<Probe> queue_probes();
std::vector<Probe> eviction_probes();
std::vector<Probe> remap_cost_probes();

// Wall-clock seconds since construction.
class Watch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// {"median": .., "least": .., "most": .., "count": ..}
Json spread(std::vector<double> values);

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kPage = 2 * kMiB;  // the granularity of device memory

}  // namespace first_light
